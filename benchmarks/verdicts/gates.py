"""What every judge is given: gates, each the runs saved earlier and those measured now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Where = Literal["T(1)", "T(2)", "both"]

ARMS = 2
"""T(1) and T(2), in this order, are the last axis of every array."""
SAVED_ROUNDS = 10
"""Rounds of a saved session: saving measures twice the rounds of a gate."""
NOW_ROUNDS = 5
"""Rounds of the fixed design, and the most that a gate may use."""
SESSIONS = (1, 3)
"""Saved sessions that a gate is judged against: the newest one, or all three."""


@dataclass(frozen=True)
class Slowdown:
    """What happened to the code between saving and now."""

    size: float = 0.0
    """Fraction by which steps take longer; 0 where the code is identical."""
    where: Where = "both"

    def __str__(self) -> str:
        return f"{100 * self.size:g} % in {self.where}" if self.size else "identical"

    @property
    def factors(self) -> tuple[float, float]:
        """What the step times of T(1) and of T(2) are multiplied by."""
        return tuple(1 + self.size * (self.where in (arm, "both")) for arm in ("T(1)", "T(2)"))  # type: ignore[return-value]


IDENTICAL = Slowdown()


@dataclass(frozen=True)
class Gates:
    """A batch of gates. Values are seconds that a replica needs for a step; the last axis is T(1), T(2)."""

    saved: Floats
    """[gates, sessions, rounds, arms]: a value per run, the newest session last."""
    now: Floats
    """[gates, rounds, arms]"""
    saved_steps: Floats
    """[gates, rounds, steps, arms]: single steps of the runs of the newest saved session."""
    now_steps: Floats
    """[gates, rounds, steps, arms]"""
    history: Sequence[Floats]
    """For each gate [nights, arms]: the mean over the runs of each earlier night, oldest first."""

    def __len__(self) -> int:
        return len(self.now)

    @property
    def newest(self) -> Floats:
        """[gates, rounds, arms]: the runs of the newest saved session."""
        return self.saved[:, -1]
