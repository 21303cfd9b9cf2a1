"""The detector: seeded series with and without a change."""

from __future__ import annotations

import itertools
import random
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.history.change_points import (
    MIN_CHANGE,
    MIN_NIGHTS,
    MIN_SEGMENT,
    find_change_points,
    noise_of,
)


def series(levels: list[tuple[int, float]], noise: float, seed: int = 1) -> list[float]:
    """Logs of nights at these levels: (nights, value)."""
    drawn = random.Random(seed)
    return [log(value) + drawn.gauss(0, noise) for nights, value in levels for _ in range(nights)]


def test_a_step_is_found_where_it_is() -> None:
    (found,) = find_change_points(series([(20, 100.0), (10, 95.0)], 0.01), 54)
    assert found.index == 20
    assert exp(found.log_change) == pytest.approx(0.95, abs=0.01)
    assert (found.before.start, found.before.end, found.after.end) == (0, 20, 30)
    assert found.p < 1e-4


def test_a_step_up_and_one_down() -> None:
    found = find_change_points(series([(15, 100.0), (15, 110.0), (15, 100.0)], 0.01), 54)
    assert [point.index for point in found] == [15, 30]
    assert [point.log_change > 0 for point in found] == [True, False]


def test_a_creep_is_found() -> None:
    flat, creep = [(20, 100.0)], [(1, 100.0 * 0.995**night) for night in range(1, 21)]
    found = find_change_points(series([*flat, *creep], 0.01), 54)
    assert found
    assert all(point.log_change < 0 for point in found)
    assert exp(sum(point.log_change for point in found)) < 0.97


@pytest.mark.parametrize("seed", range(40))
def test_noise_alone_is_nothing(seed: int) -> None:
    assert find_change_points(series([(60, 100.0)], 0.02, seed), 54) == ()


def test_odd_nights_are_no_level() -> None:
    logs = series([(30, 100.0)], 0.005)
    for night in (10, 11, 22, 29):
        logs[night] -= 0.3
    assert find_change_points(logs, 3) == ()


def test_too_few_nights_say_nothing() -> None:
    assert find_change_points(series([(5, 100.0), (4, 50.0)], 0.001), 1) == ()
    assert len(find_change_points(series([(5, 100.0), (5, 50.0)], 0.001), 1)) == 1


def test_a_change_that_nobody_would_mind_is_none() -> None:
    # As certain as can be, and too small to act on.
    assert find_change_points(series([(30, 100.0), (30, 99.7)], 0.0001), 1) == ()
    assert find_change_points(series([(30, 100.0), (30, 99.0)], 0.0001), 1) != ()


def test_values_without_any_noise() -> None:
    assert find_change_points([log(100.0)] * 20, 1) == ()
    (found,) = find_change_points([log(100.0)] * 10 + [log(98.0)] * 10, 3000)
    assert found.index == 10


def test_the_more_series_the_more_it_takes() -> None:
    logs = series([(12, 100.0), (4, 98.0)], 0.01, seed=3)
    found = find_change_points(logs, 1)
    assert found
    assert find_change_points(logs, 1_000_000) == ()


def test_noise_is_that_of_one_night_whatever_the_level_does() -> None:
    assert noise_of(series([(200, 100.0), (200, 50.0), (200, 70.0)], 0.02)) == pytest.approx(0.02, rel=0.2)


@given(
    st.lists(st.floats(-5, 5, allow_nan=False), min_size=0, max_size=60),
    st.integers(1, 5000),
)
def test_whatever_it_finds_is_whole(logs: list[float], count: int) -> None:
    found = find_change_points(logs, count)
    if len(logs) < MIN_NIGHTS:
        assert found == ()
    for point in found:
        assert point.before.end == point.after.start == point.index
        assert point.before.end - point.before.start >= MIN_SEGMENT
        assert point.after.end - point.after.start >= MIN_SEGMENT
        assert abs(point.log_change) >= MIN_CHANGE
    for one, other in itertools.pairwise(found):
        assert one.after == other.before
    if found:
        assert (found[0].before.start, found[-1].after.end) == (0, len(logs))


@given(st.floats(-20, 20), st.integers(0, 100))
def test_units_do_not_matter(shift: float, seed: int) -> None:
    logs = series([(15, 1.0), (10, 0.9)], 0.01, seed)
    moved = [value + shift for value in logs]
    assert [point.index for point in find_change_points(logs, 9)] == [
        point.index for point in find_change_points(moved, 9)
    ]
