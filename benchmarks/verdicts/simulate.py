"""The simulated gates: what is assumed of noise, in one function, `simulate`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.verdicts.gates import (
    ARMS,
    IDENTICAL,
    NOW_ROUNDS,
    SAVED_ROUNDS,
    SESSIONS,
    Floats,
    Gates,
    Slowdown,
    Where,
)

Shape = Literal["normal", "heavy tails", "spikes"]

SEED = 20261128
STEPS = 20
"""Steps of a run that the peers who look at steps are given."""
STEP_CV = 0.01
NIGHTS = 30
STEP_TIMES = (0.050, 0.050 / 0.9)
"""Seconds: T(1), and T(2) at an efficiency of 0.9."""
SPIKE_SHARE = 0.05
SPIKE_SIZE = 0.30
ARM_DRIFT_SHARE = 0.1
"""Of the session drift, what each arm has for itself."""

_CVS = (0.003, 0.01, 0.03, 0.10)
_DRIFTS = (0.0, 0.01, 0.03)
_SHAPES: tuple[Shape, ...] = ("normal", "heavy tails", "spikes")
_SLOWDOWNS = (0.02, 0.05, 0.10, 0.20)
_PLACES: tuple[Where, ...] = ("T(1)", "T(2)", "both")


@dataclass(frozen=True)
class Noise:
    """How runs of identical code differ; fractions, as standard deviations of logs."""

    cv: float
    """From run to run within a session."""
    drift: float = 0.0
    """From session to session."""
    shape: Shape = "normal"

    def __str__(self) -> str:
        drift = f"drift {100 * self.drift:g} %" if self.drift else "no drift"
        return f"CV {100 * self.cv:g} %, {drift}, {self.shape}"


def noises() -> Iterator[Noise]:
    """Every simulated setting: run CV x session drift x shape."""
    for drift in _DRIFTS:
        for shape in _SHAPES:
            for cv in _CVS:
                yield Noise(cv, drift, shape)


def slowdowns() -> Iterator[Slowdown]:
    """Every slowdown that is looked for, by size and by the arms that have it."""
    for size in _SLOWDOWNS:
        for where in _PLACES:
            yield Slowdown(size, where)


def simulate(noise: Noise, slowdown: Slowdown, gates: int, chunk: int = 0) -> Gates:
    """Draw gates; the same arguments give the same gates, on any number of processes.

    A run's value is log-normal: true value x exp(session effect + run noise), times 1 + slowdown where it is measured
    now and the arm has it.

    - Run noise is drawn anew for each run of each arm, with standard deviation `noise.cv`: normal, or for heavy tails
      Student's t with 3 degrees of freedom scaled to that standard deviation. With spikes it is normal, and 5 % of
      the runs take 30 % longer on top of it.
    - The session effect has standard deviation `noise.drift`. It is common to T(1) and T(2), except for a tenth as much
      that each arm has for itself. The saved sessions, the gate and every earlier night are sessions of their own.
    - Steps of a run lie around the run's value with a standard deviation of 1 %: they share what the run has, so that
      they are no replicates.
    - A night's value is the mean of 5 runs.

    T(2) has an efficiency of 0.9 before any slowdown.
    """
    rng = np.random.default_rng([SEED, zlib.crc32(f"{noise}/{slowdown}".encode()), chunk])
    sessions = max(SESSIONS)
    true = np.asarray(STEP_TIMES)
    slow = true * np.asarray(slowdown.factors)
    saved = true * np.exp(session_effects(rng, noise, gates, sessions) + run_noise(rng, noise, gates, sessions))
    now_effect = session_effects(rng, noise, gates, 1)
    now = slow * np.exp(now_effect + run_noise(rng, noise, gates, 1, NOW_ROUNDS))[:, 0]
    nights = true * np.exp(
        session_effects(rng, noise, gates, NIGHTS) + run_noise(rng, noise, gates, NIGHTS, NOW_ROUNDS)
    )
    return Gates(
        saved=saved,
        now=now,
        saved_steps=_steps(rng, saved[:, -1]),
        now_steps=_steps(rng, now),
        history=list(nights.mean(axis=2)),
    )


def session_effects(rng: np.random.Generator, noise: Noise, gates: int, sessions: int) -> Floats:
    """Draw [gates, sessions, 1, arms], in logs."""
    common = rng.normal(0, noise.drift, (gates, sessions, 1, 1))
    own: Floats = rng.normal(0, ARM_DRIFT_SHARE * noise.drift, (gates, sessions, 1, ARMS))
    return common + own


def run_noise(rng: np.random.Generator, noise: Noise, gates: int, sessions: int, rounds: int = SAVED_ROUNDS) -> Floats:
    """Draw [gates, sessions, rounds, arms], in logs."""
    shape = (gates, sessions, rounds, ARMS)
    if noise.shape == "heavy tails":
        # The variance of t with 3 degrees of freedom is 3.
        drawn: Floats = noise.cv / np.sqrt(3) * rng.standard_t(3, shape)
        return drawn
    drawn = rng.normal(0, noise.cv, shape)
    if noise.shape == "spikes":
        drawn += np.log1p(SPIKE_SIZE) * (rng.random(shape) < SPIKE_SHARE)
    return drawn


def _steps(rng: np.random.Generator, runs: Floats) -> Floats:
    """Draw [gates, rounds, steps, arms] around [gates, rounds, arms], in seconds."""
    gates, rounds, arms = runs.shape
    drawn: Floats = runs[:, :, None] * np.exp(rng.normal(0, STEP_CV, (gates, rounds, STEPS, arms)))
    return drawn


__all__ = ["IDENTICAL", "Noise", "noises", "run_noise", "session_effects", "simulate", "slowdowns"]
