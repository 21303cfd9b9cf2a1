"""One sample summed up, held against SciPy."""

from __future__ import annotations

from math import exp, inf, isnan, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t, trim_mean
from scipy.stats.mstats import winsorize

from pytest_tfperf.stats.summary import centre, coefficient_of_variation, geometric_mean, logs_of, outliers

positive = st.floats(min_value=1e-6, max_value=1e9)
samples = st.lists(positive, min_size=2, max_size=30)


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
def test_what_is_no_speed_is_refused_and_named(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"^{bad} is not a positive, finite number"):
        geometric_mean([1.0, bad], 0.95)


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        geometric_mean([], 0.95)


@given(samples)
def test_centre_agrees_with_scipys_trimmed_mean_and_winsorised_values(values: list[float]) -> None:
    logs, cut = logs_of(values), len(values) // 8
    assume(not outliers(logs))
    found = centre(logs)
    assert found.mean == pytest.approx(trim_mean(logs, cut / len(logs) + 1e-9), abs=1e-9)
    clipped = winsorize(np.array(sorted(logs)), limits=(cut / len(logs) + 1e-9,) * 2)
    assert found.squares == pytest.approx(float(clipped.var() * len(logs)), abs=1e-7)
    assert found.left == len(values) - 2 * cut


@pytest.mark.parametrize(("count", "left"), [(2, 2), (7, 7), (8, 6), (15, 13), (16, 12)])
def test_an_end_is_trimmed_for_each_eight_values(count: int, left: int) -> None:
    assert centre([float(number) for number in range(count)]).left == left


@given(st.lists(positive, min_size=8, max_size=15), st.floats(min_value=2, max_value=1e6))
def test_one_wild_run_of_eight_does_not_move_the_mean_beyond_the_others(values: list[float], factor: float) -> None:
    wild = geometric_mean([*values, factor * max(values)], 0.95)
    assert wild.value <= max(values) * (1 + 1e-9)


@given(st.lists(positive, min_size=2, max_size=7), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_interval_agrees_with_scipys_t_interval(values: list[float], confidence: float) -> None:
    logs = logs_of(values)
    assume(not outliers(logs))
    mean = sum(logs) / len(logs)
    deviation = (sum((value - mean) ** 2 for value in logs) / (len(logs) - 1)) ** 0.5
    if deviation < 1e-5:
        return  # There the timer's resolution stands in the place of a variance of nothing.
    low, high = t.interval(confidence, len(logs) - 1, mean, deviation / len(logs) ** 0.5)
    found = geometric_mean(values, confidence)
    assert found.value == pytest.approx(exp(mean))
    assert log(found.low) == pytest.approx(low, abs=1e-6) if low > -700 else found.low < 1e-300
    assert log(found.high) == pytest.approx(high, abs=1e-6) if high < 700 else found.high == inf


@given(samples, st.floats(min_value=1e-6, max_value=1e6))
def test_scale_does_not_matter(values: list[float], factor: float) -> None:
    plain, scaled = geometric_mean(values, 0.99), geometric_mean([factor * value for value in values], 0.99)
    assert scaled.value == pytest.approx(factor * plain.value)


@given(samples, st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert geometric_mean(shuffled, 0.95).value == pytest.approx(geometric_mean(values, 0.95).value)


def test_identical_values_give_a_narrow_interval() -> None:
    estimate = geometric_mean([5.0, 5.0, 5.0], 0.998)
    assert 4.999 < estimate.low < estimate.value < estimate.high < 5.001


def test_coefficient_of_variation_uses_the_sample_standard_deviation() -> None:
    assert coefficient_of_variation([1.0, 3.0]) == pytest.approx(2**0.5 / 2)
    assert isnan(coefficient_of_variation([1.0]))
