"""A pytest plugin for suites that tests run: whatever else the machine does is not held against a run."""

from __future__ import annotations

from pytest_tfperf.measurement.health import Health
from pytest_tfperf.records.run import Run


def _nothing(health: Health, run: Run) -> tuple[str, ...]:
    return ()


Health.disturbances = _nothing  # type: ignore[assignment, method-assign]
