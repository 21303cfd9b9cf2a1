"""The benchmark of what to do about disturbed rounds asks the real judge, each rule about the very same gates."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.disturbed_rounds import RULES, disturb, ignored, judge, left_out, nothing_decided
from benchmarks.verdicts.gates import NOW_ROUNDS, SAVED_ROUNDS, Bools, Floats
from pytest_tfperf.records.comparison import Verdict

NOISE = np.array([0.999, 1.001, 1.0, 0.9995, 1.0005, 1.0, 1.001, 0.999, 1.0, 1.0])
SAVED: Floats = np.stack([0.050 * NOISE, 0.055 * NOISE[::-1]], axis=1)[None]


def now(slower: float = 1.0) -> Floats:
    return np.stack([0.050 * NOISE[:NOW_ROUNDS], slower * 0.055 * NOISE[:NOW_ROUNDS]], axis=1)


def disturbed(*rounds: int) -> Bools:
    return np.isin(np.arange(NOW_ROUNDS), rounds)


def test_undisturbed_gates_are_the_same_to_every_rule() -> None:
    assert SAVED.shape == (1, SAVED_ROUNDS, 2)
    for slower in (1.0, 1.2):
        assert len({judge(SAVED, now(slower), disturbed(), rule) for rule in RULES.values()}) == 1


def test_a_loss_beside_a_disturbed_round_is_found_by_the_others() -> None:
    verdicts = [judge(SAVED, now(1.2), disturbed(0), rule)[0] for rule in (ignored, nothing_decided, left_out)]
    assert verdicts == [Verdict.REGRESSED, Verdict.INCONCLUSIVE, Verdict.REGRESSED]


def test_what_a_disturbance_took_decides_nothing() -> None:
    times = now()
    times[:3, 1] *= 1.5
    verdicts = [judge(SAVED, times, disturbed(0, 1, 2), rule)[0] for rule in (ignored, nothing_decided, left_out)]
    assert verdicts == [Verdict.REGRESSED, Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE]


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_one_run_of_a_disturbed_round_takes_longer(chance: float) -> None:
    times = np.ones((200, NOW_ROUNDS, 2))
    longer, which = disturb(times, chance, 0.0, seed=1)
    assert which.mean() == pytest.approx(chance, abs=0.05)
    assert np.array_equal((longer > 1).sum(axis=2), which.astype(int))
    assert longer.min() == 1
    assert longer.max() <= 2
