"""The generator does what its docstring says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.verdicts.gates import IDENTICAL, SAVED_ROUNDS, SESSIONS, Slowdown
from benchmarks.verdicts.simulate import NIGHTS, STEP_CV, STEP_TIMES, STEPS, Noise, noises, simulate, slowdowns


def test_every_setting_asked_for_is_there() -> None:
    found = set(noises())
    assert {noise.cv for noise in found} == {0.003, 0.01, 0.03, 0.10}
    assert {noise.drift for noise in found} == {0.0, 0.01, 0.03}
    assert len(found) == 4 * 3 * 3
    assert {slowdown.size for slowdown in slowdowns()} == {0.02, 0.05, 0.10, 0.20}
    assert len(list(slowdowns())) == 4 * 3


def test_shapes_and_repeatability() -> None:
    gates, again = (simulate(Noise(0.01, 0.03), Slowdown(0.1), 4, chunk=7) for _ in range(2))
    assert gates.saved.shape == (4, max(SESSIONS), SAVED_ROUNDS, 2)
    assert gates.now.shape == (4, 5, 2)
    assert gates.saved_steps.shape == (4, SAVED_ROUNDS, STEPS, 2)
    assert [nights.shape for nights in gates.history] == [(NIGHTS, 2)] * 4
    np.testing.assert_array_equal(gates.now, again.now)
    np.testing.assert_array_equal(gates.saved_steps, again.saved_steps)
    assert not np.array_equal(gates.now, simulate(Noise(0.01, 0.03), Slowdown(0.1), 4, chunk=8).now)


@pytest.mark.parametrize("cv", [0.003, 0.01, 0.03, 0.10])
@pytest.mark.parametrize("shape", ["normal", "heavy tails"])
def test_runs_vary_by_the_cv(cv: float, shape: str) -> None:
    gates = simulate(Noise(cv, shape=shape), IDENTICAL, 2000)  # type: ignore[arg-type]
    # The variance of t with 3 degrees of freedom converges slowly, as its fourth moment is infinite.
    assert np.log(gates.saved).std(axis=(0, 1, 2)) == pytest.approx([cv, cv], rel=0.02 if shape == "normal" else 0.3)
    assert np.exp(np.log(gates.now).mean(axis=(0, 1))) == pytest.approx(STEP_TIMES, rel=cv / 10)


def test_heavy_tails_are_heavier() -> None:
    def far(shape: str) -> float:
        logs = np.log(simulate(Noise(0.01, shape=shape), IDENTICAL, 1000).saved / np.array(STEP_TIMES))  # type: ignore[arg-type]
        return float((np.abs(logs) > 0.05).mean())

    assert far("normal") < 1e-5
    assert far("heavy tails") > 1e-3


def test_one_run_in_twenty_takes_thirty_percent_longer() -> None:
    gates = simulate(Noise(0.01, shape="spikes"), IDENTICAL, 2000)
    spiked = gates.saved / np.array(STEP_TIMES) > 1.15
    assert spiked.mean() == pytest.approx(0.05, rel=0.1)
    assert (gates.saved / np.array(STEP_TIMES))[spiked].mean() == pytest.approx(1.30, rel=0.01)


def test_sessions_drift_together() -> None:
    gates = simulate(Noise(0.001, 0.03), IDENTICAL, 3000)
    session = np.log(gates.saved).mean(axis=2)
    assert session.std(axis=(0, 1)) == pytest.approx([0.03, 0.03], rel=0.05)
    efficiency = session[..., 1] - session[..., 0]
    assert efficiency.std() == pytest.approx(0.003 * 2**0.5, rel=0.05)
    night = np.log(np.array(gates.history))
    assert night.std(axis=(0, 1)) == pytest.approx([0.03, 0.03], rel=0.05)


def test_steps_share_what_their_run_has() -> None:
    gates = simulate(Noise(0.03), IDENTICAL, 200)
    logs = np.log(gates.now_steps)
    assert logs.std(axis=2).mean() == pytest.approx(STEP_CV, rel=0.05)
    np.testing.assert_allclose(logs.mean(axis=2), np.log(gates.now), atol=5 * STEP_CV / STEPS**0.5)


@pytest.mark.parametrize(("where", "ratio"), [("T(1)", (1.2, 1.0)), ("T(2)", (1.0, 1.2)), ("both", (1.2, 1.2))])
def test_a_slowdown_is_in_the_arms_it_says(where: str, ratio: tuple[float, float]) -> None:
    gates = simulate(Noise(0.003), Slowdown(0.2, where), 500)  # type: ignore[arg-type]
    now, before = (np.exp(np.log(values).mean(axis=(0, 1))) for values in (gates.now, gates.newest))
    assert now / before == pytest.approx(ratio, rel=0.001)
    assert np.array(gates.history).mean(axis=(0, 1)) == pytest.approx(STEP_TIMES, rel=0.001)
