"""pytest-tfperf's own verdicts on gates: the judge that the plugin calls, round after round as the plugin calls it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.verdicts.gates import NOW_ROUNDS, Bools, Floats, Gates
from pytest_tfperf.comparison.judge import hypotheses_of, judge_arm
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.arm import Arm, Scalar
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns

TOLERANCE = 0.03
FIRST_LOOK = 2
"""Rounds after which a gate is judged for the first time."""
REPLICAS = 2
HYPOTHESES = hypotheses_of([REPLICAS], 0, own_reference=False)
"""T(1), T(2), E(2) and T(1) x T(2), as in a session of this one test."""

_ARM = Arm("smallconv", "multi_worker_mirrored", REPLICAS, "cpu")
_DEFINITION: dict[str, Scalar] = {"scaling": "weak"}
_PROVENANCE = Provenance("2026-11-20T00:00:00Z", "", False, "perf_tests/test_a.py::test_a[2]")
_POLICY = ComparisonPolicy()


@dataclass(frozen=True)
class Judged:
    """What became of each gate of a batch."""

    alarms: Bools
    """The verdict was `regressed`: the test fails."""
    rounds: NDArray[np.int64]
    """Rounds after which the gate was settled, or the most that it may use."""
    undecided: Bools
    """The verdict was `inconclusive`."""


def judge(gates: Gates, sessions: int) -> Judged:
    """Judge each gate against its newest `sessions` saved sessions."""
    verdicts = [_judge(saved[-sessions:], now) for saved, now in zip(gates.saved, gates.now)]
    return Judged(
        np.array([verdict is Verdict.REGRESSED for verdict, _ in verdicts], dtype=bool),
        np.array([rounds for _, rounds in verdicts]),
        np.array([verdict is Verdict.INCONCLUSIVE for verdict, _ in verdicts], dtype=bool),
    )


def _judge(saved: Floats, now: Floats) -> tuple[Verdict, int]:
    """One gate: [sessions, rounds, arms] and [rounds, arms] in; the verdict and the rounds that it took out."""
    baseline = entry_of(saved)
    step_times = now.T.tolist()
    for rounds in range(FIRST_LOOK, NOW_ROUNDS + 1):
        reference, own = (tuple(times[:rounds]) for times in step_times)
        found = verdict_at(rounds, reference, own, baseline)
        if found.settled:
            break
    return found.verdict, rounds


def verdict_at(
    rounds: int,
    reference: tuple[float, ...],
    own: tuple[float, ...],
    baseline: BaselineEntry,
    *,
    disturbed: Sequence[str] = (),
    may_be_undisturbed: bool = False,
) -> ArmVerdict:
    """The judge's answer after so many rounds, of step times of T(1) and T(2) in those that count."""
    return judge_arm(
        _ARM,
        PairedRuns(_throughputs(reference, 1), reference, _throughputs(own, REPLICAS), own),
        definition=_DEFINITION,
        baseline=baseline,
        missing="",
        floors=[],
        tolerance=TOLERANCE,
        policy=_POLICY,
        look=Look(round=rounds, planned=NOW_ROUNDS),
        hypotheses=HYPOTHESES,
        disturbed=disturbed,
        may_be_undisturbed=may_be_undisturbed,
    )


def _throughputs(step_times: tuple[float, ...], replicas: int) -> tuple[float, ...]:
    """Steps of all replicas per second, in place of examples: a batch size would cancel."""
    return tuple(replicas / seconds for seconds in step_times)


def entry_of(saved: Floats) -> BaselineEntry:
    """Saved sessions, [sessions, rounds, arms] of step times, as a baseline has them."""
    sessions = []
    for session in saved:
        reference, own = (tuple(times) for times in session.T.tolist())
        sessions.append(
            BaselineSession(
                _PROVENANCE, {}, _throughputs(reference, 1), reference, _throughputs(own, REPLICAS), own
            )
        )  # fmt: skip
    return BaselineEntry(
        workload=_ARM.workload,
        strategy=_ARM.strategy,
        variant=None,
        replicas=REPLICAS,
        definition=_DEFINITION,
        hard={},
        sessions=tuple(sessions),
    )
