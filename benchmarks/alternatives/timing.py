"""How every contestant is timed: a first step, warm-up, then windows of steps, the host blocked at the end of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

_FEWEST_WARM_UP_STEPS = 5


@dataclass(frozen=True)
class Times:
    """Durations of one run in seconds."""

    first_step: float
    """From the call to the end of the first step: tracing and compilation, not the making of the model."""
    step: float
    """Of a step, in the median window."""
    loss: float


class Steps(Protocol):
    """A contestant's training."""

    def run(self, steps: int) -> float:
        """Do that many steps, wait for the device, and give the last loss."""
        ...


class FunctionSteps:
    """Steps that are calls of a function which gives the loss as a tensor."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def run(self, steps: int) -> float:
        loss: Any = None
        for _ in range(steps):
            loss = self._function()
        return float(loss)


def measure(steps: Steps, *, warmup_seconds: float, window_seconds: float, windows: int) -> Times:
    """Time them. A window has as many steps as fill it at the pace of the last warm-up steps."""
    first, _ = _timed(steps, 1)
    took, _ = _timed(steps, _FEWEST_WARM_UP_STEPS)
    spent, batch = took, _FEWEST_WARM_UP_STEPS
    while spent < warmup_seconds:
        batch = max(1, round(0.25 * warmup_seconds / (took / batch)))
        took, _ = _timed(steps, batch)
        spent += took
    count = max(1, round(window_seconds / (took / batch)))
    seen = [_timed(steps, count) for _ in range(windows)]
    return Times(first, median(seconds for seconds, _ in seen) / count, seen[-1][1])


def _timed(steps: Steps, count: int) -> tuple[float, float]:
    started = time.monotonic()
    loss = steps.run(count)
    return time.monotonic() - started, loss
