"""What a suite measures, as pytest collects it in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tfperf.errors import ReportError, UsageError

_SECONDS = 600.0
"""For collecting; a suite whose conftest imports TensorFlow takes half a minute on a slow disk."""
_TAIL = 2000
"""Characters of pytest's output that an error shows."""


@dataclass(frozen=True)
class Suite:
    """The baselines that a suite's tests are judged against."""

    tests: int
    names: frozenset[tuple[str, str]]
    """Name of a baseline and kind of device."""


def collect(paths: Sequence[str]) -> Suite:
    """Have pytest collect these paths.

    Raises:
        UsageError: nothing that measures is there.
        ReportError: they cannot be collected. What could not be read might name any baseline.
    """
    with tempfile.TemporaryDirectory(prefix="tfperf-suite-") as folder:
        listed = Path(folder) / "arms.json"
        # The entry point may be switched off by the environment, so the plugin is named.
        plugin = ["-p", "no:tfperf", "-p", "pytest_tfperf.plugin"]
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", *plugin, f"--tfperf-list={listed}", *paths]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ReportError(f"pytest did not collect the suite within {_SECONDS:g} s") from None
        output = f"{done.stdout}\n{done.stderr}".strip()[-_TAIL:]
        if done.returncode == 4:
            raise UsageError(f"pytest does not take {', '.join(paths)} for a suite:\n{output}")
        if done.returncode not in (0, 5) or not listed.exists():  # 5: no tests
            raise ReportError(
                f"pytest could not collect the suite (exit code {done.returncode}), so nothing is known of what its "
                f"tests use:\n{output}"
            )
        arms = json.loads(listed.read_text())["arms"]
    if not arms:
        raise UsageError(
            f"no test in {', '.join(paths)} is marked tfperf, so every baseline would go; is that the suite?"
        )
    return Suite(len({arm["test"] for arm in arms}), frozenset((arm["name"], arm["device"]) for arm in arms))
