from __future__ import annotations

import pytest

from pytest_tfperf.diagnosis.ablation import what_difference_costs
from pytest_tfperf.records.estimate import Estimate


@pytest.mark.parametrize(
    ("value", "low", "high", "n", "text"),
    [
        (2.0, 1.8, 2.2, 5, "2.00 times as fast [1.80, 2.20], so 50 % of its time goes into the difference."),
        (1.1, 0.9, 1.3, 5, "1.10 times as fast [0.900, 1.30]; no difference beyond the noise."),
        (0.5, 0.4, 0.6, 5, "0.500 times as fast [0.400, 0.600], so this is the slower of the two."),
        (3.0, 0.0, float("inf"), 1, "3.00 times as fast; one round cannot say whether that is noise."),
    ],
)
def test_a_difference_is_claimed_only_where_it_is_sure(
    value: float, low: float, high: float, n: int, text: str
) -> None:
    estimate = Estimate(value, low, high, 0.95, n)
    assert what_difference_costs(estimate, "input=records") == f"Against input=records: {text}"
