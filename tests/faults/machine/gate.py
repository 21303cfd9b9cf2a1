"""A gate of one small test, run by a real pytest on real clusters in some odd place, as fast as it can be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.machine.places import TOP, there
from tests.gate.environ import environ

QUICK = ("-p", "no:benchmark", "-p", "no:xdist", "-p", "no:timeout", "-p", "unwatched")
"""`unwatched`: what other programs do to a run is not held against it here."""

SUITE = """
import pytest
from steady import steady

@pytest.mark.tfperf(steady, strategy="multi_worker_mirrored", replicas=[2], batch_size=8)
def test_scales(tfperf):
    tfperf.check()
"""


def gate(folder: Path, suite: str = SUITE) -> Path:
    """A folder with a suite."""
    folder.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_suite.py").write_text(suite)
    return folder


def arguments(folder: Path, *more: str, wait: float = 0.0) -> list[str]:
    """Of a pytest in that folder, which reports to `report.json` there."""
    quick = ["--tfperf-rounds=1", "--tfperf-window=0.1", f"--tfperf-wait={wait:g}"]
    report = f"--tfperf-json={folder}/report.json"
    return ["-m", "pytest", *QUICK, *quick, report, "--rootdir", str(folder), *more, str(folder)]


def session(place: str, folder: Path, *more: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A whole session in one of `PLACES`; it must pass, and leave nothing of its own."""
    temporary = folder / "temporary"
    temporary.mkdir()
    done = there(place, arguments(folder, *more), TMPDIR=str(temporary), **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(temporary.iterdir()) == []
    return done


def begun(folder: Path, *more: str, wait: float, output: Path, **variables: str) -> subprocess.Popen[str]:
    """A session that goes on beside the test; what it prints is in a file."""
    with output.open("w") as file:
        return subprocess.Popen(
            [sys.executable, *arguments(folder, *more, wait=wait)],
            cwd=TOP, env=environ(TOP, **variables), stdout=file, stderr=file, text=True,
        )  # fmt: skip


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def runs(folder: Path) -> Iterator[dict[str, Any]]:
    """Every run in a session's report."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if "throughput" in value and "tasks" in value:
                yield value
            else:
                for each in value.values():
                    yield from walk(each)
        elif isinstance(value, list):
            for each in value:
                yield from walk(each)

    yield from walk(report(folder))


def windows(folder: Path) -> list[tuple[float, float, int]]:
    """Start and end on the monotonic clock, and steps, of every timed window."""
    return [tuple(window) for run in runs(folder) for task in run["tasks"] for window in task["windows"]]
