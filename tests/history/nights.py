"""Sessions night after night, made of one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchmarks.canned_report import canned_report
from pytest_tfperf.history import append
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.measured import MeasuredArm

FIRST = datetime(2026, 10, 1, 1, 0, tzinfo=timezone.utc)
TEST = "perf_tests/test_canned.py::test_canned0"


def sessions(folder: Path, losses: Sequence[float], *, noise: float = 0.005, arms: int = 4) -> list[SessionReport]:
    """One session a night; T(4) is slower by this fraction each night, and all have a commit of their own."""
    report = canned_report(folder, arms, rounds=3)
    return [_night(report, number, loss, noise) for number, loss in enumerate(losses)]


def store(url: str, folder: Path, losses: Sequence[float], *, noise: float = 0.005) -> list[SessionReport]:
    made = sessions(folder, losses, noise=noise)
    for session in made:
        append(session, url)
    return made


def date_of(number: int) -> str:
    return (FIRST + timedelta(days=number)).strftime("%Y-%m-%d")


def _night(report: SessionReport, number: int, loss: float, noise: float) -> SessionReport:
    drawn = random.Random(number)
    sweeps = tuple(
        replace(sweep, arms=tuple(_arm(arm, loss, drawn, noise) for arm in sweep.arms)) for sweep in report.sweeps
    )
    places = {
        device: replace(place, soft={**place.soft, "tensorflow": "2.20.0" if loss == 0 else "2.21.0"})
        for device, place in report.places.items()
    }
    started = (FIRST + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return replace(
        report, started=started, commit=f"{number:07x}" + 33 * "0", dirty=False, sweeps=sweeps, places=places
    )


def _arm(arm: MeasuredArm, loss: float, drawn: random.Random, noise: float) -> MeasuredArm:
    speed = 1000.0 * arm.replicas**0.9 / (1 + (loss if arm.replicas == 4 else 0.0))
    values = [speed * drawn.lognormvariate(0.0, noise) for _ in arm.runs]
    return replace(
        arm,
        runs=tuple(
            replace(run, throughput=value, step_time=128 * arm.replicas / value) for run, value in zip(arm.runs, values)
        ),
    )
