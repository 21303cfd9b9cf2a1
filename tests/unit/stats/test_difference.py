"""Two groups of runs and the noise at two levels, held against SciPy and against what must hold for any numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, inf, log, sqrt
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import f, t, ttest_1samp, ttest_ind, ttest_rel

from pytest_tfperf.records.difference import Difference
from pytest_tfperf.stats.difference import (
    A_LARGE_DAY,
    AGREE,
    DAYS_AT_MOST,
    DAYS_TIMES,
    DAYS_TIMES_ALONE,
    ITS_WEIGHT,
    LOOKS_APART,
    chance_above,
    difference,
    expected_half_width,
    half_width,
    interval,
    level,
    paired_difference,
)
from pytest_tfperf.stats.summary import centre, logs_of, outliers

positive = st.floats(min_value=1e-6, max_value=1e9)
log_noise = st.floats(min_value=-0.05, max_value=0.05)
few = st.lists(positive, min_size=2, max_size=7)
many = st.lists(positive, min_size=2, max_size=24)
errors = st.sampled_from([1e-5, 1e-4, 0.001, 0.02, 0.1])
sessions = st.lists(many, min_size=1, max_size=5)


def noisy(*samples: list[float]) -> bool:
    """Whether the timer's resolution is nowhere put in the place of a variance of nothing, and no run is left out."""
    return all(max(sample) > 1.001 * min(sample) and not outliers(logs_of(sample)) for sample in samples)


def variance(found: Difference) -> float:
    """Of the noise of runs and of sessions together."""
    return found.within + found.between


def freedom(found: Difference) -> float:
    """Degrees of freedom of that."""
    return found.freedom_with(found.within, found.within_freedom)


@given(st.lists(positive, min_size=2, max_size=24), st.data(), errors)
def test_equal_counts_agree_with_scipys_t_test(now: list[float], data: Any, error: float) -> None:
    before = data.draw(st.lists(positive, min_size=len(now), max_size=len(now)))
    assume(noisy(now, before))
    trim = len(now) // 8 / len(now)
    theirs = ttest_ind(logs_of(now), logs_of(before), trim=trim + 1e-9 if trim else 0)
    found = difference(now, [before])
    assume(abs(found.log_ratio) > 1e-9)
    assert freedom(found) == pytest.approx(theirs.df)
    assert found.log_ratio / sqrt(variance(found)) == pytest.approx(theirs.statistic, rel=1e-5)


@given(few, few, errors)
def test_unequal_counts_have_the_larger_of_the_pooled_and_of_welchs_variance(
    now: list[float], before: list[float], error: float
) -> None:
    """A machine that is noisier today is not given yesterday's noise, nor the other way round."""
    assume(noisy(now, before))
    found = difference(now, [before])
    pooled = ttest_ind(logs_of(now), logs_of(before))
    low, high = pooled.confidence_interval(1 - 2 * error)
    welch = ttest_ind(logs_of(now), logs_of(before), equal_var=False)
    assert half_width(found, error) >= (high - low) / 2 * (1 - 1e-6)
    own = (found.log_ratio / welch.statistic) ** 2 if welch.statistic else 0.0
    shared = (found.log_ratio / pooled.statistic) ** 2 if pooled.statistic else 0.0
    if abs(found.log_ratio) > 1e-6:
        assert variance(found) == pytest.approx(max(own, shared), rel=1e-4)


@given(few, few)
def test_freedom_of_two_parts_agrees_with_scipys_welch_test(now: list[float], before: list[float]) -> None:
    assume(noisy(now, before))
    one, other = centre(logs_of(now)), centre(logs_of(before))
    theirs = ttest_ind(logs_of(now), logs_of(before), equal_var=False)
    found = Difference(
        log_ratio=one.mean - other.mean,
        within=one.squares / (one.left - 1) / one.left,
        within_freedom=one.left - 1,
        run_variance=1.0,
        base_share=0.0,
        runs=one.left,
        between=other.squares / (other.left - 1) / other.left,
        between_freedom=other.left - 1,
    )
    assert freedom(found) == pytest.approx(theirs.df, rel=1e-5)


@given(few, st.data())
def test_pairs_agree_with_scipys_paired_test(now: list[float], data: Any) -> None:
    before = data.draw(st.lists(positive, min_size=len(now), max_size=len(now)))
    assume(noisy([one / other for one, other in zip(now, before)]))
    found = paired_difference(now, before)
    theirs = ttest_rel(logs_of(now), logs_of(before))
    assume(abs(found.log_ratio) > 1e-9)
    assert freedom(found) == theirs.df
    assert found.log_ratio / sqrt(variance(found)) == pytest.approx(theirs.statistic, rel=1e-5)


@given(few, positive)
def test_a_level_agrees_with_scipys_test_of_one_sample(now: list[float], value: float) -> None:
    assume(noisy(now))
    found = level(now, value)
    theirs = ttest_1samp(logs_of(now), log(value))
    assume(abs(found.log_ratio) > 1e-9)
    assert freedom(found) == theirs.df
    assert found.log_ratio / sqrt(variance(found)) == pytest.approx(theirs.statistic, rel=1e-5)


@given(st.floats(0.5, 200), st.floats(1e-8, 10), errors)
def test_half_width_is_students(freedom: float, variance: float, error: float) -> None:
    found = Difference(0.0, variance, freedom, variance, 0.0, 5)
    assert half_width(found, error) == pytest.approx(t.ppf(1 - error, freedom) * sqrt(variance), rel=1e-6)


@given(many, sessions, errors)
def test_interval_holds_the_ratio_and_is_wider_for_a_smaller_error(
    now: list[float], before: list[list[float]], error: float
) -> None:
    found = difference(now, before)
    wide, narrow = interval(found, error / 2), interval(found, error)
    assert wide.low <= narrow.low <= narrow.value <= narrow.high <= wide.high
    assert narrow.confidence == 1 - 2 * error
    assert interval(found, 0.0).high == inf


@given(many, many, errors)
def test_swapping_the_sides_inverts_the_difference(now: list[float], before: list[float], error: float) -> None:
    forth, back = difference(now, [before]), difference(before, [now])
    assert forth.log_ratio == pytest.approx(-back.log_ratio, abs=1e-9)
    assert half_width(forth, error) == pytest.approx(half_width(back, error), rel=1e-6)


@given(many, sessions, st.floats(1e-9, 1e9), errors)
def test_scale_does_not_matter(now: list[float], before: list[list[float]], factor: float, error: float) -> None:
    plain = difference(now, before)
    scaled = difference([factor * each for each in now], [[factor * each for each in one] for one in before])
    assert scaled.log_ratio == pytest.approx(plain.log_ratio, abs=1e-9)
    assert half_width(scaled, error) == pytest.approx(half_width(plain, error), rel=1e-4, abs=1e-9)


@given(many, sessions, st.randoms(use_true_random=False), errors)
def test_the_order_of_runs_and_of_sessions_does_not_matter(
    now: list[float], before: list[list[float]], random: Any, error: float
) -> None:
    plain = difference(now, before)
    shuffled = [random.sample(session, len(session)) for session in random.sample(before, len(before))]
    mixed = difference(random.sample(now, len(now)), shuffled)
    assert mixed.log_ratio == pytest.approx(plain.log_ratio, abs=1e-9)
    assert half_width(mixed, error) == pytest.approx(half_width(plain, error), rel=1e-4, abs=1e-9)


@given(many, many, st.floats(1.0, 50.0), errors)
def test_more_noise_at_the_same_mean_widens_the_interval(
    now: list[float], before: list[float], factor: float, error: float
) -> None:
    """Against one session. Against several, degrees of freedom move from one level of noise to the other as they do."""
    middle = centre(logs_of(now)).mean
    logs = [middle + factor * (each - middle) for each in logs_of(now)]
    assume(all(abs(each) < 690 for each in logs))  # what a float holds
    plain, loud = difference(now, [before]), difference([exp(each) for each in logs], [before])
    assert loud.log_ratio == pytest.approx(plain.log_ratio, abs=1e-6)
    assert half_width(loud, error) >= half_width(plain, error) * (1 - 1e-6)


@given(many, many, st.integers(2, 5))
def test_identical_sessions_differ_in_nothing(now: list[float], session: list[float], count: int) -> None:
    found = difference(now, [session] * count)
    assert found.between == pytest.approx(0, abs=1e-12)
    assert found.log_ratio == pytest.approx(difference(now, [session]).log_ratio, abs=1e-9)


@given(many, sessions, st.floats(0.0, 3.0), errors)
def test_sessions_that_are_further_apart_never_narrow_the_interval(
    now: list[float], before: list[list[float]], apart: float, error: float
) -> None:
    """Each session is moved to the mean of all, then apart by so much: noise within and the mean stay as they are."""
    logs = [logs_of(session) for session in before]
    centres = [centre(each).mean for each in logs]
    mean = sum(centres) / len(centres)
    steps = [number - (len(logs) - 1) / 2 for number in range(len(logs))]
    together = [[exp(each - own + mean) for each in one] for one, own in zip(logs, centres)]
    spread = [[exp(each - own + mean + apart * step) for each in one] for one, own, step in zip(logs, centres, steps)]
    near, far = difference(now, together), difference(now, spread)
    assert far.log_ratio == pytest.approx(near.log_ratio, abs=1e-6)
    assert half_width(far, error) >= half_width(near, error) * (1 - 1e-6)


@given(st.lists(log_noise, min_size=3, max_size=6), st.floats(1e-6, 0.01), st.floats(1e-4, 0.1))
def test_what_sessions_differ_by_has_a_chance_of_its_own(shifts: list[float], error: float, day: float) -> None:
    """Never narrower than the noise of the runs allows, wider for a smaller chance, and of several sessions alone."""
    now, before = [100.0, 101.0, 99.0, 100.5, 99.5], [[100 * exp(s), 100.3 * exp(s)] for s in shifts]
    found = difference(now, before)
    of_runs = replace(found, between=0.0, between_freedom=0)
    assert half_width(found, error, day) >= half_width(of_runs, error)
    assert half_width(found, error, day / 2) >= half_width(found, error, day)
    assert half_width(of_runs, error, day) == half_width(of_runs, error)


def test_sessions_that_are_apart_and_sessions_that_agree() -> None:
    """By hand: three of 8 runs each, 0.3 % and 3 % apart, with runs that vary by 1 %."""
    runs = [0.01, -0.01] * 4

    def width(apart: float, sessions: Sequence[int], chance: float = 0.01) -> float:
        before = [[exp(r + apart * place / 2) for r in runs] for place in sessions]
        return half_width(difference([exp(r) for r in runs], before), 0.4, chance)

    noise = difference([exp(r) for r in runs], [[exp(r) for r in runs]] * 3)
    assert noise.between_of_runs == pytest.approx(noise.run_variance / noise_left(runs) * 4 / 3)
    let_pass = f.ppf(1 - LOOKS_APART, 2, noise.within_freedom) * noise.between_of_runs
    for apart in (0.001, 0.003):
        between = (apart / 2) ** 2 * 4 / 3
        alike = t.ppf(1 - AGREE * 0.01, 2) * sqrt(between + let_pass)
        expected = exp(ITS_WEIGHT * log(A_LARGE_DAY) + (1 - ITS_WEIGHT) * log(alike))
        assert width(apart, (-1, 0, 1)) == pytest.approx(expected)
    # No day explains any loss: the one bound where sessions are near, the other where they are far apart.
    apart = 0.015 * sqrt(4 / 3)
    assert width(0.03, (-1, 0, 1), 0.005) == pytest.approx(DAYS_AT_MOST + DAYS_TIMES * apart)
    assert width(0.03, (-1, 0, 1), 0.05) == pytest.approx(t.ppf(0.95, 2) * apart)
    assert width(0.30, (-1, 0, 1), 0.005) == pytest.approx(DAYS_TIMES_ALONE * 10 * apart)
    # Two that agree are as one: the noise of the runs is all. Two that do not say little of days.
    two = difference([exp(r) for r in runs], [[exp(r) for r in runs]] * 2)
    assert width(0.003, (-1, 1)) == pytest.approx(t.ppf(0.6, two.within_freedom) * sqrt(two.within))
    apart = 0.03 / sqrt(2) * sqrt(1.5)
    assert width(0.03, (-1, 1)) == pytest.approx(DAYS_AT_MOST + DAYS_TIMES * apart)
    assert width(0.03, (-1, 1), 0.1) == pytest.approx(t.ppf(0.9, 1) * apart)


def noise_left(runs: list[float]) -> int:
    return centre(runs).left


def test_what_sessions_differ_by_counts_for_their_mean_and_for_the_new_one() -> None:
    """Two sessions 2 % apart: variance 2e-4 of their means, x (1 + 1/2) for a new one."""
    before = [[100 * exp(0.01)] * 5, [100 * exp(-0.01)] * 5]
    found = difference([100.0] * 5, before)
    assert found.between == pytest.approx(2e-4 * 1.5)
    assert found.between_freedom == 1


@given(st.lists(positive, min_size=2, max_size=24), st.data(), st.floats(0.1, 10.0))
def test_a_drift_that_both_of_a_round_share_cancels(now: list[float], data: Any, last: float) -> None:
    before = data.draw(st.lists(positive, min_size=len(now), max_size=len(now)))
    drift = [last ** (number / len(now)) for number in range(len(now))]
    plain = paired_difference(now, before)
    drifting = paired_difference(
        [one * by for one, by in zip(now, drift)], [one * by for one, by in zip(before, drift)]
    )
    assert drifting.log_ratio == pytest.approx(plain.log_ratio, abs=1e-9)
    assert variance(drifting) == pytest.approx(variance(plain), rel=1e-4, abs=1e-10)


def test_one_run_says_nothing_of_its_noise() -> None:
    for found in (difference([1.0], [[1.0], [2.0]]), paired_difference([1.0], [2.0]), level([1.0], 2.0)):
        assert half_width(found, 0.1) == inf
        assert (interval(found, 0.1).low, interval(found, 0.1).high) == (0.0, inf)
    assert half_width(difference([1.0, 1.1], [[1.0]]), 0.1) < inf


def test_earlier_sessions_tell_a_level_of_the_noise_of_a_run() -> None:
    wild = [[0.8, 1.2, 1.0, 0.9]]
    assert half_width(level([1.0, 1.01], 1.0, wild), 0.02) > half_width(level([1.0, 1.01], 1.0), 0.1)
    assert freedom(level([1.0, 1.01], 1.0, wild)) == 4


def test_identical_values_give_a_narrow_interval_and_no_division_by_zero() -> None:
    found = interval(difference([5.0] * 3, [[5.0] * 3] * 2), 0.001)
    assert 0.9999 < found.low < found.value == 1 < found.high < 1.0001


def test_numbers_whose_ratio_no_float_holds_are_judged_too() -> None:
    assert interval(difference([1e300, 1e300], [[1e-300, 1e-300]]), 0.01).value == inf
    assert interval(difference([1e-300, 1e-300], [[1e300, 1e300]]), 0.01).value == 0
    assert paired_difference([1e300, 1e300], [1e-300, 1e-300]).log_ratio == pytest.approx(600 * log(10))


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), inf])
def test_what_is_no_speed_is_refused_and_named_on_every_side(bad: float) -> None:
    wrong_calls: list[Callable[[], Difference]] = [
        lambda: difference([1.0, bad], [[1.0]]),
        lambda: difference([1.0], [[1.0], [2.0, bad]]),
        lambda: paired_difference([1.0, bad], [1.0, 1.0]),
        lambda: paired_difference([1.0, 1.0], [1.0, bad]),
        lambda: paired_difference([bad], [bad]),
        lambda: level([bad], 1.0),
        lambda: level([1.0], bad),
        lambda: level([1.0], 1.0, [[bad]]),
    ]
    for wrong in wrong_calls:
        with pytest.raises(ValueError, match=rf"^{bad} is not a positive, finite number"):
            wrong()


def test_missing_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        difference([], [[1.0]])
    with pytest.raises(ValueError, match="no values"):
        difference([1.0], [[]])
    with pytest.raises(ValueError, match="no session"):
        difference([1.0], [])
    with pytest.raises(ValueError, match="2 runs for 1: they are not paired"):
        paired_difference([1.0, 2.0], [1.0])


@given(few, few, errors, st.integers(1, 20))
def test_more_rounds_are_expected_to_narrow_the_interval(
    now: list[float], before: list[float], error: float, more: int
) -> None:
    found = difference(now, [before])
    widths = [expected_half_width(found, len(now) + extra, error) for extra in (0, more)]
    assert widths[1] < widths[0] <= half_width(found, error) * (1 + 1e-6)


@given(few, few, st.integers(1, 20))
def test_chances_to_end_above_a_bound(now: list[float], before: list[float], more: int) -> None:
    found = difference(now, [before])
    runs = len(now) + more
    assert chance_above(found, runs, found.log_ratio) == pytest.approx(0.5)
    assert chance_above(found, runs, found.log_ratio - 1) > 0.5 > chance_above(found, runs, found.log_ratio + 1)
    assert chance_above(found, len(now), found.log_ratio - 1e-9) == 1
    assert chance_above(found, len(now), found.log_ratio + 1e-9) == 0
