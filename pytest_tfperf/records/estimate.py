"""A figure and how sure we are of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Estimate:
    """A value with its two-sided interval; a float subclass would hide the interval, so ask for `.value`."""

    value: float
    low: float
    high: float
    confidence: float
    """Of the interval, for instance 0.95."""
    n: int
    """Runs it was made from."""

    @property
    def half_width(self) -> float:
        """Half the interval's width relative to the value, as for `+- 0.4 %`; inf where it is unbounded."""
        if self.low <= 0 or self.high == float("inf"):
            return float("inf")
        # The interval is symmetric on a log scale.
        return sqrt(self.high / self.low) - 1

    def __float__(self) -> float:
        return self.value
