"""The clock of all measurements, and a clock that replays them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol


class Clock(Protocol):
    """Seconds since some fixed moment, the same for every process of the machine."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class MonotonicClock:
    """CLOCK_MONOTONIC: not set by anybody, and shared by the machine's processes, so that tasks can be compared."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class StepClock:
    """A timer that pytest-benchmark reads: it stands still but for the durations it is told to let pass.

    pytest-benchmark times a function by reading its timer before and after. Our runs happened in other
    processes, so the function it times only calls :meth:`advance`, and the timer shows the run's step time.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._pending: list[float] = []

    def __call__(self) -> float:
        return self._now

    def load(self, durations: Iterable[float]) -> None:
        """Set the durations, in seconds, that the next calls of `advance` let pass."""
        self._pending = list(durations)
        self._now = 0.0

    def advance(self) -> None:
        """Let the next loaded duration pass."""
        self._now += self._pending.pop(0)
