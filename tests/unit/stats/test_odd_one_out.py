"""Which of several equal things stands out: rarely any by chance, and soon one that does."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_tfperf.stats.odd_one_out import surely_above

CHANCE = 0.02
SWEEPS = 2000


def named(members: int, rounds: int, noise: float, above: float, own_noise: float | None = None) -> float:
    """Share of sweeps in which the last member is found, or any where `above` is 0."""
    numbers = np.random.default_rng(1)
    spread = np.full(members, noise)
    if own_noise is not None:
        spread[-1] = own_noise
    logs = numbers.normal(0, 1, (SWEEPS, rounds, members)) * spread + numbers.normal(0, 1, (SWEEPS, rounds, 1))
    logs[..., -1] += np.log1p(above)
    found = [surely_above(np.exp(sweep).tolist(), CHANCE) for sweep in logs]
    return float(np.mean([each[-1] if above else any(each) for each in found]))


@pytest.mark.parametrize("members", [2, 3, 4, 8])
@pytest.mark.parametrize("rounds", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_one_of_equal_members_is_found_no_oftener_than_the_chance(members: int, rounds: int, noise: float) -> None:
    assert named(members, rounds, noise, above=0) <= CHANCE + 3 * (CHANCE / SWEEPS) ** 0.5


def test_a_member_that_is_only_noisier_is_seldom_found() -> None:
    assert named(8, 5, noise=0.01, above=0, own_noise=0.1) <= 2 * CHANCE


@pytest.mark.parametrize(("members", "rounds"), [(8, 2), (4, 3), (3, 3), (2, 4)])
def test_one_that_is_a_sixth_above_is_found_in_few_rounds_of_many_members(members: int, rounds: int) -> None:
    assert named(members, rounds, noise=0.01, above=1 / 6) > 0.95


def test_what_moves_a_whole_round_cancels() -> None:
    assert surely_above([[1.0, 1.0, 2.0], [9.0, 9.1, 18.0]], CHANCE) == (False, False, True)


def test_identical_values_and_too_few_find_nothing() -> None:
    assert surely_above([[1.0, 1.0]] * 5, CHANCE) == (False, False)
    assert surely_above([[1.0, 9.0]], CHANCE) == (False, False)
    assert surely_above([[1.0], [1.0], [1.0]], CHANCE) == (False,)
    assert surely_above([], CHANCE) == ()


def test_values_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="not a positive, finite number"):
        surely_above([[1.0, 0.0], [1.0, 1.0]], CHANCE)
    with pytest.raises(ValueError, match="different lengths"):
        surely_above([[1.0, 1.0], [1.0]], CHANCE)
