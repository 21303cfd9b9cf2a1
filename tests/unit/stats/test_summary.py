from __future__ import annotations

from math import inf, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from pytest_tfperf.stats.summary import coefficient_of_variation, geometric_mean, ratio, runs_needed

positive = st.floats(min_value=1e-6, max_value=1e9, allow_nan=False)
samples = st.lists(positive, min_size=2, max_size=12)


def test_geometric_mean_of_a_known_sample() -> None:
    estimate = geometric_mean([90.0, 100.0, 110.0], 0.95)
    assert estimate.value == pytest.approx((90 * 100 * 110) ** (1 / 3))
    assert estimate.low < estimate.value < estimate.high
    assert estimate.n == 3


def test_one_value_has_no_interval() -> None:
    estimate = geometric_mean([100.0], 0.95)
    assert estimate.value == pytest.approx(100)
    assert (estimate.low, estimate.high) == (0.0, inf)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), inf])
def test_what_is_no_speed_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive, finite"):
        geometric_mean([1.0, bad], 0.95)
    with pytest.raises(ValueError, match="positive, finite"):
        ratio([1.0, 2.0], [bad, 1.0], 0.95)


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        ratio([], [1.0], 0.95)


@given(samples, samples)
def test_interval_agrees_with_scipys_welch_test(now: list[float], before: list[float]) -> None:
    from math import log

    ours = ratio(now, before, 0.95)
    logs_now, logs_before = [log(value) for value in now], [log(value) for value in before]
    if max(logs_now) - min(logs_now) < 1e-3 or max(logs_before) - min(logs_before) < 1e-3:
        return  # There we put the timer's resolution in the place of a variance of nothing.
    theirs = ttest_ind(logs_now, logs_before, equal_var=False).confidence_interval(0.95)
    assert log(ours.low) == pytest.approx(theirs.low, abs=1e-6) if ours.low > 0 else theirs.low < -700
    if ours.high != inf:
        assert log(ours.high) == pytest.approx(theirs.high, abs=1e-6)


@given(samples, samples, st.floats(min_value=1e-3, max_value=1e3))
def test_scale_does_not_matter(now: list[float], before: list[float], factor: float) -> None:
    plain = ratio(now, before, 0.99)
    scaled = ratio([factor * value for value in now], [factor * value for value in before], 0.99)
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)


@given(samples, samples)
def test_swapping_the_sides_inverts_the_ratio(now: list[float], before: list[float]) -> None:
    forth, back = ratio(now, before, 0.95), ratio(before, now, 0.95)
    assert forth.value * back.value == pytest.approx(1, rel=1e-6)


def test_identical_values_give_a_narrow_interval_and_no_division_by_zero() -> None:
    estimate = ratio([5.0, 5.0, 5.0], [5.0, 5.0, 5.0], 0.998)
    assert estimate.value == 1
    assert 0.9999 < estimate.low < 1 < estimate.high < 1.0001


def test_a_single_run_on_either_side_decides_nothing() -> None:
    assert ratio([1.0], [1.0, 2.0], 0.95).high == inf
    assert ratio([1.0, 2.0], [1.0], 0.95).low == 0


def test_coefficient_of_variation_uses_the_sample_standard_deviation() -> None:
    assert coefficient_of_variation([1.0, 3.0]) == pytest.approx(2**0.5 / 2)
    assert isnan(coefficient_of_variation([1.0]))


def test_more_noise_needs_more_runs() -> None:
    quiet = runs_needed([100, 101, 99], [100, 99, 101], 0.05, 0.998)
    loud = runs_needed([100, 110, 90], [100, 90, 110], 0.05, 0.998)
    assert quiet is not None
    assert loud is not None
    assert 2 <= quiet < loud
    assert runs_needed([100], [100, 101], 0.05, 0.998) is None
