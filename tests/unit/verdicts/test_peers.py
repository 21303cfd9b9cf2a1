"""The rules of other tools on examples small enough to decide by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.verdicts import peers
from benchmarks.verdicts.gates import IDENTICAL, Floats, Gates, Slowdown
from benchmarks.verdicts.peers import PEERS
from benchmarks.verdicts.simulate import Noise, simulate


def row(*values: float) -> Floats:
    return np.array([values])


def test_pytest_benchmark_compares_means_with_five_percent() -> None:
    assert peers.pytest_benchmark_slower([1.0, 1.0], [1.04, 1.08])
    assert not peers.pytest_benchmark_slower([1.0, 1.0], [1.04, 1.05])
    assert not peers.pytest_benchmark_slower([1.0, 1.0], [0.5, 0.5])


def test_asv_wants_the_factor_and_a_difference() -> None:
    pytest.importorskip("asv")
    before = [1.0 + step / 1000 for step in range(10)]
    assert peers.asv_slower(before, [value + 0.2 for value in before[:5]])
    assert not peers.asv_slower(before, [value + 0.05 for value in before[:5]]), "different, but not by the factor"
    assert not peers.asv_slower(before, [0.9, 0.95, 1.2, 1.2, 1.2]), "by the factor, but not different"
    assert not peers.asv_slower([value + 0.2 for value in before], before[:5])


def test_asv_can_never_tell_six_from_six() -> None:
    """Its guard takes the smallest one-sided p where its test is two-sided; the tables say what comes of that."""
    pytest.importorskip("asv")
    assert not peers.asv_slower([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [10.0, 10.1, 10.2, 10.3, 10.4, 10.5])


def test_otava_finds_the_step_on_the_last_night() -> None:
    pytest.importorskip("otava")
    quiet = [1.0 + (night % 3) / 1000 for night in range(30)]
    assert peers.otava_slower([*quiet, 1.5])
    assert not peers.otava_slower([*quiet, 0.5])
    assert not peers.otava_slower([*quiet, 1.001])
    assert not peers.otava_slower([*quiet[:15], *(value + 0.5 for value in quiet[15:])]), "the step is old"


def test_google_benchmark_takes_pooled_steps_for_replicates() -> None:
    before = np.linspace(1.0, 1.1, 50)
    assert peers.google_benchmark_slower(row(*before), row(*(before + 0.03))).tolist() == [True]
    assert peers.google_benchmark_slower(row(*before), row(*(before - 0.03))).tolist() == [False]
    assert peers.google_benchmark_slower(row(*before), row(*(before + 0.001))).tolist() == [False]


def test_torchbench_has_a_band_of_seven_percent() -> None:
    before, now = np.array([1.0, 1.0, 1.0]), np.array([1.08, 1.06, 0.5])
    assert peers.torchbench_slower(before, now).tolist() == [True, False, False]


def test_megatron_compares_medians_of_steps_with_five_percent() -> None:
    golden = row(1.0, 1.0, 9.0)
    assert peers.megatron_slower(golden, row(1.06, 1.06, 1.0)).tolist() == [True]
    assert peers.megatron_slower(golden, row(1.04, 1.04, 9.0)).tolist() == [False]
    assert peers.megatron_slower(golden, row(0.5, 0.5, 0.5)).tolist() == [False]


def installed() -> list[peers.Peer]:
    missing = peers.missing_packages()
    return [peer for peer in PEERS if peer.package not in missing]


@pytest.mark.parametrize("where", ["T(1)", "T(2)", "both"])
def test_every_peer_sees_a_slowdown_in_either_arm(where: str) -> None:
    noise = Noise(0.003)
    gates = simulate(noise, Slowdown(0.5, where), 3)  # type: ignore[arg-type]
    for peer in installed():
        assert peer.judges(gates).all(), peer.name
        assert peer.alarms(gates).all(), peer.name


def test_no_band_is_left_by_quiet_identical_code() -> None:
    gates = simulate(Noise(0.003), IDENTICAL, 20)
    for peer in installed():
        if peer.name not in ("google/benchmark", "Otava"):
            assert not peer.alarms(gates).any(), peer.name


def test_otava_is_not_asked_without_history() -> None:
    gates = simulate(Noise(0.003), Slowdown(0.5), 2)
    short = Gates(gates.saved, gates.now, gates.saved_steps, gates.now_steps, [nights[:9] for nights in gates.history])
    otava = next(peer for peer in PEERS if peer.name == "Otava")
    assert not otava.judges(short).any()
    assert not otava.alarms(short).any()
