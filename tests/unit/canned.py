"""Canned runs and baselines for tests of pure logic."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tfperf.comparison.floors import Floor
from pytest_tfperf.comparison.judge import judge_arm
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.arm import Arm, Scalar
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.comparison import ArmVerdict
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns

FOUR = Arm("resnet50", "multi_worker_mirrored", 4, "gpu")
NOISE = (1.002, 0.998, 1.001, 0.999, 1.0)
DEFINITION: dict[str, Scalar] = {"scaling": "weak", "workload.batch_size": 256}


def runs(throughput: float, noise: Sequence[float] = NOISE) -> tuple[float, ...]:
    return tuple(throughput * factor for factor in noise)


def baseline(
    one: float = 5700,
    four: float = 20500,
    noise: Sequence[float] = NOISE,
    sessions: Sequence[float] = (1.0,),
) -> BaselineEntry:
    """Four replicas of a ResNet-50; noise of the two arms is independent, so it does not cancel in E.

    `sessions` says how fast each session was, oldest first: 0.98 is 2 % slower than `one` and `four`. They are a day
    apart; the newest is of 2026-11-20.
    """
    return BaselineEntry(
        workload="resnet50",
        strategy="multi_worker_mirrored",
        variant=None,
        replicas=4,
        definition=DEFINITION,
        hard={"cpu_cores": 2},
        sessions=tuple(
            session(one * speed, four * speed, noise, f"2026-11-{20 - age:02}T01:00:00Z")
            for age, speed in zip(range(len(sessions) - 1, -1, -1), sessions)
        ),
    )


def session(one: float, four: float, noise: Sequence[float], date: str = "2026-11-20T01:00:00Z") -> BaselineSession:
    return BaselineSession(
        provenance=Provenance(date, "a1b2c3d4e5", False, "t"),
        soft={"tensorflow": "2.20.0"},
        reference_throughput=runs(one, noise),
        reference_step_time=runs(256 / one, noise),
        throughput=runs(four, noise[::-1]),
        step_time=runs(1024 / four, noise),
    )


def judged(
    one: float = 5700,
    four: float = 20500,
    *,
    stored: BaselineEntry | None = None,
    floor: float | None = None,
    noise: Sequence[float] = NOISE,
    tolerance: float = 0.03,
    missing: str = "",
    smoke: str = "",
    versus: float | None = None,
    speedup_floor: float | None = None,
    sessions: Sequence[float] = (1.0,),
    planned: int | None = None,
    disturbed: Sequence[str] = (),
    arm: Arm = FOUR,
) -> ArmVerdict:
    """Judge four replicas against `stored`, or against the usual baseline unless one is said to be missing.

    There is a run for each of `noise`, and they are the last unless more rounds are `planned`.
    """
    floors = [] if floor is None else [Floor("efficiency", floor, "the test")]
    if speedup_floor is not None:
        floors.append(Floor("speedup", speedup_floor, "the test"))
    if stored is None and not missing:
        stored = baseline(sessions=sessions)
    return judge_arm(
        arm,
        PairedRuns(
            reference=runs(one, noise),
            reference_step_time=runs(256 / one, noise),
            throughput=runs(four, noise[::-1]),
            step_time=runs(1024 / four, noise),
            versus=runs(versus, noise) if versus else (),
        ),
        definition=DEFINITION,
        baseline=stored,
        missing=missing,
        floors=floors,
        versus="mirrored" if versus else "",
        tolerance=tolerance,
        policy=ComparisonPolicy(),
        look=Look(len(noise), planned or len(noise)),
        hypotheses=3 + len(floors),
        disturbed=disturbed,
        smoke=smoke,
    )
