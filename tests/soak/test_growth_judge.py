"""The judge of growth on series that were made up: it finds a leak, and is not taken in by noise or a step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tools.soak.growth import judge_count, judge_slope, judge_time

STEP = [100.0] * 100 + [120.0] * 100
NOISY = 100 + np.random.default_rng(7).normal(0, 2, 200)
LEAK = 100 + 0.05 * np.arange(200)


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([7] * 200, "flat"),
        ([7, 7, 8, 7, 9, 7] * 30, "flat"),
        ([7, 9, 7, 7, 7, 9, 7], "flat"),
        ([9, 9, 9, 7, 7, 7], "flat"),
        ([7] * 199 + [8], "grew"),
        ([7] * 100 + [8] * 100, "grew"),
        ([7 + index // 50 for index in range(200)], "grew"),
        ([7 + index % 2 + index // 70 for index in range(200)], "grew"),
        ([9, *[7] * 80, *[8] * 100], "grew"),
    ],
    ids=["flat", "wavers", "few", "falls", "one at the end", "step", "leak", "wavering leak", "a high first value"],
)
def test_counts(values: Sequence[int], answer: str) -> None:
    assert judge_count("descriptors", values).answer == answer


def test_a_count_says_how_much() -> None:
    grown = judge_count("descriptors", list(range(10, 40)))
    assert (grown.first, grown.last, grown.text) == (10, 39, "+29")


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([100.0] * 200, "flat"),
        (NOISY, "flat"),
        (STEP, "flat"),
        (LEAK, "grew"),
        (LEAK + np.random.default_rng(8).normal(0, 2, 200), "grew"),
        (LEAK[::-1], "flat"),
        (np.where(np.arange(200) % 40 == 0, 500.0, NOISY), "flat"),
        (100 + 20 * (1 - np.exp(-np.arange(200) / 20)), "flat"),
        (100 + 2.0 * (np.arange(200) // 40), "grew"),
        (np.random.default_rng(9).normal(100, 30, 40), "undecided"),
        ([100.0] * 5, "undecided"),
    ],
    ids=["flat", "noisy", "step", "leak", "noisy leak", "falls", "odd values", "fills", "stairs", "too noisy", "few"],
)
def test_sizes(values: Sequence[float], answer: str) -> None:
    grown = judge_slope("RSS", list(values), bound=1.0)
    assert grown.answer == answer, grown.text


def test_a_size_says_how_much_and_its_bound() -> None:
    assert judge_slope("RSS", list(LEAK), 1.0).text == "+5 [+5, +5] per 100, bound 1"


def time_of(
    slowing: float, load: float, seed: int, noise: float = 0.1, count: int = 60
) -> tuple[list[float], list[float]]:
    """Seconds, and the control's, where clusters slow down by a factor and the machine's load does too."""
    random = np.random.default_rng(seed)
    rises = np.linspace(0.0, 1.0, count)
    busy = load**rises
    seconds = 0.5 * slowing**rises * busy * random.lognormal(0, noise, count)
    return list(seconds), list(0.02 * busy * random.lognormal(0, noise, count))


@pytest.mark.parametrize(
    ("slowing", "load", "answer"),
    [(1.0, 1.0, "flat"), (1.0, 3.0, "flat"), (1.0, 1 / 3, "flat"), (3.0, 1.0, "grew"), (4.0, 1.5, "grew")],
    ids=["flat", "a machine that gets busy", "one that gets quiet", "slower", "slower on one that gets busy"],
)
def test_times(slowing: float, load: float, answer: str) -> None:
    quick, slow = time_of(slowing, load, seed=1), time_of(slowing, load, seed=2)
    seconds = {"quick": quick[0], "slow": [10 * each for each in slow[0]]}
    grown = judge_time("seconds", seconds, {"quick": quick[1], "slow": slow[1]}, bound=1.25)
    assert grown.answer == answer, grown.text


def test_too_few_of_every_kind() -> None:
    assert judge_time("seconds", {"a": [1.0] * 5}, {"a": [1.0] * 5}, 1.25).answer == "undecided"


def test_one_kind_in_many_that_slows_down_is_not_lost() -> None:
    slow, steady = time_of(8.0, 1.0, seed=1), time_of(1.0, 1.0, seed=2)
    grown = judge_time("seconds", {"a": slow[0], "b": steady[0]}, {"a": slow[1], "b": steady[1]}, 1.25)
    assert grown.answer == "grew", grown.text
