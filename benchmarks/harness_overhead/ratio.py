"""Ratios of times through the plugin and without, and their table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from pytest_tfperf.config import MeasurementPolicy

BAR = 0.01
CONFIDENCE = 0.95
FEWEST = 6
"""Rounds from which on a sign test can give a 95 % interval."""


@dataclass(frozen=True)
class Ratio:
    """Time through the plugin over time without, as a fraction above 1; `rounds` values went into it."""

    overhead: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, logs: Sequence[float]) -> Ratio:
        """Median of logarithms of ratios, with its interval; an unbounded one for fewer rounds than can tell."""
        from scipy.stats import quantile_test

        low, high = -math.inf, math.inf
        if len(logs) >= FEWEST:
            interval = quantile_test(list(logs)).confidence_interval(CONFIDENCE)
            low, high = float(interval.low), float(interval.high)
        return cls(math.expm1(median(logs)), math.expm1(low), math.expm1(high) if high < 700 else math.inf, len(logs))

    def __str__(self) -> str:
        return f"{self.overhead:+8.3%} [{self.low:+.3%}, {self.high:+.3%}] ({self.rounds} rounds)"


@dataclass(frozen=True)
class Paired:
    """View 2 at one length."""

    batch_size: int
    milliseconds: float
    """Of a step in the bare loop; on a CPU of processor time."""
    ratio: Ratio
    """By the clock."""
    processor: Ratio | None
    """By processor time; None on a GPU, where the host mostly waits."""
    quartiles: tuple[float, float]
    """Of one round's overhead by the clock: the noise that the median has to cut through."""

    @property
    def verdict(self) -> str:
        """What is established of the bar."""
        for by, ratio in (("the clock", self.ratio), ("processor time", self.processor)):
            if ratio is not None and ratio.high < BAR:
                return f"under 1 % by {by}"
            if ratio is not None and ratio.low > BAR:
                return f"over 1 % by {by}"
        return "not decided"


def lines(found: Sequence[Paired], per_step: float, per_window: float) -> Iterator[str]:
    """The table of view 2, each row with what view 1 makes of it by arithmetic."""
    window = MeasurementPolicy().window_seconds
    yield f"{'step':>9}  {'batch':>7}  {'by arithmetic':>13}  plugin over bare: median and 95 % interval"
    for each in found:
        of_loop = per_step / (1000 * each.milliseconds) + per_window / (1e6 * max(window, each.milliseconds / 1000))
        noise = f"quartiles of a round {each.quartiles[0]:+.1%} to {each.quartiles[1]:+.1%}"
        by = f"clock {each.ratio}" + (f"; processor time {each.processor}" if each.processor else "")
        yield f"{each.milliseconds:6.2f} ms  {each.batch_size:7d}  {of_loop:13.4%}  {by}; {each.verdict}; {noise}"
