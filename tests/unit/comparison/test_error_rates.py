"""How often the judge errs, counted on simulated gates: fixed seeds, bounds that chance passes once in 10,000 times.

The allowed errors are set far above those of a session, so that some hundred gates can show whether they are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from pytest_tfperf.comparison import effect
from pytest_tfperf.comparison.judge import judge_arm
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.stats.spending import look_rounds
from tests.unit.canned import DEFINITION, FOUR, baseline

PLANNED, SAVED = 5, 10
ANY = 1e-9
"""A tolerance that leaves it to the noise alone whether there is an alarm."""


@pytest.fixture(autouse=True)
def no_unknown_days(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the runs are counted; what days may do beside them would hide all of those."""
    monkeypatch.setattr(effect, "UNKNOWN_DAYS", 0.0)


class Gates:
    """Runs of T(1) and T(4) around one speed each: of saved sessions, and of now."""

    def __init__(
        self,
        seed: int,
        *,
        planned: int = PLANNED,
        cv: float = 0.01,
        sessions: int = 1,
        drift: float = 0.0,
        change: float | tuple[float, float] = 0.0,
    ) -> None:
        """`change` of now: of both arms, or of T(1) and T(4)."""
        self.planned = planned
        self._random = np.random.default_rng(seed)
        self._cv, self._drift, self._sessions, self._change = cv, drift, sessions, change

    def draw(self) -> tuple[list[list[list[float]]], list[list[float]]]:
        """Saved: [sessions][arms][rounds], now: [arms][rounds]. Both arms share a session's drift."""
        return [self._side(SAVED) for _ in range(self._sessions)], self._side(self.planned, self._change)

    def _side(self, rounds: int, change: float | tuple[float, float] = 0.0) -> list[list[float]]:
        logs = self._random.normal(0, self._cv, (2, rounds)) + self._random.normal(0, self._drift)
        sides: list[list[float]] = (np.exp(logs) * (1 + np.reshape(change, (-1, 1)))).tolist()
        return sides


def judged(
    saved: Sequence[Sequence[Sequence[float]]],
    now: Sequence[Sequence[float]],
    look: Look,
    policy: ComparisonPolicy,
    *,
    tolerance: float,
    hypotheses: int,
) -> ArmVerdict:
    stored = baseline()
    one, four = (tuple(runs[: look.round]) for runs in now)
    return judge_arm(
        FOUR,
        PairedRuns(one, one, four, four),
        definition=DEFINITION,
        baseline=replace(
            stored,
            sessions=tuple(
                replace(stored.latest, reference_throughput=tuple(arms[0]), throughput=tuple(arms[1])) for arms in saved
            ),
        ),
        missing="",
        floors=(),
        tolerance=tolerance,
        policy=policy,
        look=look,
        hypotheses=hypotheses,
        own_reference=hypotheses == 1,
    )


def count(
    gates: Gates,
    number: int,
    wanted: Verdict,
    *,
    alarm: float = 0.001,
    miss: float = 0.10,
    tolerance: float = ANY,
    hypotheses: int = 1,
    spend: bool = True,
    until_settled: bool = False,
) -> int:
    """Gates with the verdict `wanted` at any look; without `spend` every look may err as if it were the only one."""
    policy = ComparisonPolicy(alarm=alarm, miss=miss)
    found = 0
    for _ in range(number):
        saved, now = gates.draw()
        for rounds in look_rounds(gates.planned):
            look = Look(rounds, gates.planned, alone=not spend)
            verdict = judged(saved, now, look, policy, tolerance=tolerance, hypotheses=hypotheses)
            if verdict.verdict is wanted:
                found += 1
                break
            if until_settled and verdict.settled:
                break
    return found


def most(number: int, rate: float) -> int:
    """More than so many of `number` come up once in 10,000 times if `rate` is kept."""
    return int(binom.ppf(0.9999, number, rate))


def fewest(number: int, rate: float) -> int:
    return int(binom.ppf(0.0001, number, rate))


def test_looks_that_share_the_error_keep_it() -> None:
    assert count(Gates(1, planned=20), 400, Verdict.REGRESSED, alarm=0.1) <= most(400, 0.1)


def test_looks_that_each_take_all_of_it_do_not() -> None:
    """The test above can fail: a gate that looked without spending would."""
    assert count(Gates(1, planned=20), 400, Verdict.REGRESSED, alarm=0.1, spend=False) > most(400, 0.1)


def test_three_figures_that_share_the_error_keep_it() -> None:
    gates = Gates(2)
    assert count(gates, 200, Verdict.REGRESSED, alarm=0.1, hypotheses=3) <= most(200, 0.1)


@pytest.mark.parametrize("drift", [0.01, 0.03])
def test_three_sessions_tell_of_the_drift_between_them(drift: float) -> None:
    found = count(Gates(3, sessions=3, drift=drift), 300, Verdict.REGRESSED, alarm=0.05)
    assert found <= most(300, 0.05)


def test_one_session_cannot() -> None:
    """As the method says; so the test above can fail."""
    assert count(Gates(3, drift=0.03), 200, Verdict.REGRESSED, alarm=0.05) > most(200, 0.05)


def test_a_loss_of_the_tolerance_is_seldom_called_unchanged() -> None:
    gates = Gates(4, change=-0.03)
    assert count(gates, 500, Verdict.UNCHANGED, miss=0.1, tolerance=0.03) <= most(500, 0.1)


def test_a_loss_of_5_percent_is_found_on_a_quiet_machine() -> None:
    """At the errors of a session: 95 of 100 within 5 rounds at a run-to-run variation of 1 %."""
    gates = Gates(5, change=-0.05)
    found = count(gates, 200, Verdict.REGRESSED, tolerance=0.03, hypotheses=3, until_settled=True)
    assert found >= fewest(200, 0.95)


def test_identical_code_on_a_quiet_machine_is_mostly_called_unchanged() -> None:
    gates = Gates(6, cv=0.003)
    found = count(gates, 100, Verdict.UNCHANGED, tolerance=0.03, hypotheses=3, until_settled=True)
    assert found >= 99
