"""The plugin's own judge is asked as the plugin asks it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.verdicts.gates import IDENTICAL, NOW_ROUNDS, Slowdown
from benchmarks.verdicts.ours import FIRST_LOOK, judge
from benchmarks.verdicts.peers import PEERS
from benchmarks.verdicts.simulate import Noise, simulate
from benchmarks.verdicts.tally import own_name, tally
from pytest_tfperf.comparison import judge as room
from pytest_tfperf.stats.spending import look_rounds


@pytest.mark.parametrize("sessions", [1, 3])
def test_quiet_identical_code_is_settled_early_and_raises_no_alarm(sessions: int) -> None:
    judged = judge(simulate(Noise(0.003), IDENTICAL, 20), sessions)
    assert not judged.alarms.any()
    assert judged.rounds.max() < NOW_ROUNDS


@pytest.mark.parametrize("where", ["T(1)", "T(2)", "both"])
def test_a_large_slowdown_in_either_arm_raises_an_alarm(where: str) -> None:
    judged = judge(simulate(Noise(0.003), Slowdown(0.3, where), 20), 1)  # type: ignore[arg-type]
    assert judged.alarms.all()
    assert not judged.undecided.any()


def test_noise_beyond_the_tolerance_leaves_gates_undecided() -> None:
    judged = judge(simulate(Noise(0.10), IDENTICAL, 20), 1)
    assert judged.undecided.any()


def test_looks_are_those_of_the_plugin() -> None:
    assert look_rounds(NOW_ROUNDS) == tuple(range(FIRST_LOOK, NOW_ROUNDS + 1))


def test_the_judge_is_the_plugins_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look of it for every round that a gate took, with the saved sessions asked for."""
    looks = []

    def counted(arm, runs, **given):  # type: ignore[no-untyped-def]
        looks.append((len(runs.throughput), len(given["baseline"].sessions)))
        return room.judge_arm(arm, runs, **given)

    monkeypatch.setattr("benchmarks.verdicts.ours.judge_arm", counted)
    judged = judge(simulate(Noise(0.01), IDENTICAL, 5), 3)
    assert len(looks) == int((judged.rounds - FIRST_LOOK + 1).sum())
    assert {sessions for _, sessions in looks} == {3}


def test_a_tally_counts_the_same_gates_for_all() -> None:
    gates = simulate(Noise(0.01), Slowdown(0.05), 30)
    quick = [peer for peer in PEERS if peer.package is None]
    counts = tally(gates, None, quick)
    ours = judge(gates, 1)
    assert counts[own_name(1)].alarms == int(ours.alarms.sum())
    assert counts[own_name(1)].rounds == int(ours.rounds.sum())
    for peer in quick:
        alarms = peer.alarms(gates)
        assert counts[peer.name].gates == 30
        assert counts[peer.name].alone[own_name(1)] == int(np.sum(alarms & ~ours.alarms))
        assert counts[peer.name].silent[own_name(1)] == int(np.sum(ours.alarms & ~alarms))
