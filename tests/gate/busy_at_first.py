"""A pytest plugin for suites that tests run: of a run's disturbances only other programs count.

Those that run as long as a file exists are sent away after three runs, the attempts at the first one that counts.
"""

from __future__ import annotations

from pathlib import Path

from pytest_tfperf.measurement.health import Health
from pytest_tfperf.records.run import Run

BUSY = "busy"
"""The file, in the folder of the suite."""
_ATTEMPTS = 3

_seen = Health.disturbances
_runs = 0


def _programs_alone(health: Health, run: Run) -> tuple[str, ...]:
    global _runs
    _runs += 1
    if _runs == _ATTEMPTS:
        Path(BUSY).unlink(missing_ok=True)
    return tuple(line for line in _seen(health, run) if line.startswith("other programs"))


Health.disturbances = _programs_alone  # type: ignore[assignment, method-assign]
