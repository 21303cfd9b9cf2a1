"""Real files for the command's tests: baselines and reports of sessions with canned runs."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks.canned import store_baselines
from benchmarks.canned_report import canned_report
from pytest_tfperf.command import main
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import to_json
from pytest_tfperf.report.measured import MeasuredArm

QUIET = 0.004


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def tfperf(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ran:
    """Run the command in this process; what it prints, line by line as it would be seen."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Ran(code, captured.out, captured.err)


def stored(root: Path, arms: int = 8, spread: float = QUIET) -> Path:
    """A baselines' folder with so many arms in files of four."""
    store_baselines(PerfConfig(root=root, baselines=root / "baselines"), arms, spread)
    return root / "baselines"


@cache
def session(arms: int) -> SessionReport:
    """A session as it is, of which no test changes anything."""
    with tempfile.TemporaryDirectory() as root:
        return canned_report(Path(root), arms, QUIET)


def measured(*, rounds: int = 8, speeds: Mapping[str, float] = {}, seed: int = 0, arms: int = 4) -> SessionReport:
    """A session's report whose arms all have so many rounds; `speeds` by label, 0.9 is 10 % slower."""
    report, noise = session(arms), random.Random(seed)

    def again(arm: MeasuredArm) -> MeasuredArm:
        if not arm.runs:  # its task died
            return arm
        run, runs = arm.runs[0], []
        for number in range(1, rounds + 1):
            throughput = 1000.0 * arm.replicas**0.9 * speeds.get(arm.label, 1.0) * noise.lognormvariate(0.0, QUIET)
            step_time = 128 * arm.replicas / throughput
            runs.append(replace(run, round=number, throughput=throughput, step_time=step_time))
        return replace(arm, runs=tuple(runs))

    sweeps = tuple(replace(sweep, arms=tuple(map(again, sweep.arms))) for sweep in report.sweeps)
    return replace(report, sweeps=sweeps, started=f"2026-02-{seed + 1:02}T01:00:00Z")


def written(path: Path, report: SessionReport) -> Path:
    path.write_bytes(to_json(report))
    return path
