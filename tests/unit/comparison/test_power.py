"""What the judge finds, counted on simulated gates as a session would judge them."""

from __future__ import annotations

import pytest

from pytest_tfperf.comparison.judge import hypotheses_of
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.comparison import Verdict
from tests.unit.comparison.test_error_rates import Gates, count, fewest


@pytest.mark.parametrize("change", [(1 / 1.05 - 1, 0.0), (0.0, 1 / 1.05 - 1), (1 / 1.05 - 1, 1 / 1.05 - 1)])
@pytest.mark.parametrize("sessions", [1, 3])
def test_five_percent_at_a_noise_of_one_are_found(change: tuple[float, float], sessions: int) -> None:
    """In one arm or in both, within five rounds, also where the gate ends as soon as nothing more can be hoped for."""
    gates = Gates(5, sessions=sessions, change=change)
    number = 150
    found = count(
        gates,
        number,
        Verdict.REGRESSED,
        alarm=ComparisonPolicy.alarm,
        tolerance=0.03,
        hypotheses=hypotheses_of([4], 0, own_reference=False),
        until_settled=True,
    )
    assert found >= fewest(number, 0.95)
