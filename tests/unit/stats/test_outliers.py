"""Which runs are left out as lying far from all others, and what is then left of a sample."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.stats.difference import difference, half_width
from pytest_tfperf.stats.summary import centre, centre_of_logs, geometric_mean, outliers

logs = st.lists(st.floats(min_value=-20, max_value=20), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("sample", "apart"),
    [
        ([0.0, 0.01, 0.02, 0.03], ()),
        ([0.0, 0.01, 0.02, 9.0], ()),  # of four, none can be told
        ([0.0, 0.01, 9.0, 0.02, 0.03], (2,)),
        ([0.0, -9.0, 0.01, 0.02, 0.03], (1,)),
        ([0.0, 0.01, 0.02, 0.03, 0.11], ()),  # not quite three times as far as the others are apart
        ([0.0, 0.01, 0.02, 0.03, 0.13], (4,)),
        ([0.0, 0.01, 0.02, 9.0, 9.01], ()),  # two of five may be what the code does
        ([0.0, 9.0, 9.01, 9.02, 9.03], (0,)),
        ([-9.0, 0.0, 0.01, 0.02, 9.0], ()),
        ([0.0, 0.01] * 4 + [9.0, 9.2], (8, 9)),
        ([0.0, 0.01] * 4 + [-9.0, -9.2], (8, 9)),
        ([0.0, 0.01] * 4 + [9.0, 9.2, 9.3], ()),
        ([0.0, 0.0, 0.0, 0.0, 1e-6], ()),  # identical but for the timer's resolution
        ([0.0, 0.0, 0.0, 0.0, 1e-3], (4,)),
    ],
)
def test_by_hand(sample: list[float], apart: tuple[int, ...]) -> None:
    assert outliers(sample) == apart


@given(logs)
def test_at_most_one_of_five_and_all_at_one_end(sample: list[float]) -> None:
    apart = outliers(sample)
    assert len(apart) <= len(sample) // 5
    left = [value for place, value in enumerate(sample) if place not in apart]
    gone = [sample[place] for place in apart]
    assert not gone or max(gone) < min(left) or min(gone) > max(left)
    assert centre(sample) == centre(left) or outliers(left)


@given(logs, st.randoms(use_true_random=False))
def test_order_does_not_matter(sample: list[float], random: object) -> None:
    shuffled = list(sample)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = outliers(sample), outliers(shuffled)
    assert sorted(shuffled[place] for place in other) == sorted(sample[place] for place in one)


def test_a_wild_run_changes_neither_the_mean_nor_what_may_be_found() -> None:
    others = [100.0, 101.0, 99.0, 100.5]
    assert geometric_mean([*others, 60.0], 0.95).value == geometric_mean(others, 0.95).value
    assert centre_of_logs([*others, 60.0]).left == 4
    before = [[95.0, 96.0, 94.0, 95.5, 95.2]]
    calm, wild = difference(others, before), difference([*others, 60.0], before)
    assert wild.log_ratio == calm.log_ratio
    assert half_width(wild, 0.001) == half_width(calm, 0.001) < log(100 / 95)
