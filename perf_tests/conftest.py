"""Marks of the project's own suite."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "gate: what a nightly gate holds that is to take ten minutes on four GPUs, with --tfperf-largest; "
        "what the reports had, and the tests that look for its cause, are not in it",
    )
