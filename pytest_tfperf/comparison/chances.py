"""Chances of a wrong decision: how much of what a session allows each figure may spend at each look."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.look import Look
from pytest_tfperf.stats.spending import shares

RARER = 35
"""By how much rarer a day is that a figure which moved alone could be taken for."""


@dataclass(frozen=True)
class Errors:
    """Chances of a wrong decision on one side that one figure may have at one look."""

    alarm: float
    miss: float
    day: float
    """Of an alarm for what differs between sessions; the same at every look, as a session's day is the same at each."""

    @property
    def day_alone(self) -> float:
        """The same for a figure that E(N) shows to have moved alone, which days rarely do."""
        return min(0.5, RARER * self.day)


def errors_at(look: Look, policy: ComparisonPolicy, hypotheses: int) -> Errors:
    """The session's chance of a false alarm is split evenly over all that it judges, then over the looks.

    Bonferroni's inequality again: the sum bounds the chance of any false alarm, and each test can fail on its own,
    without knowing what the tests after it will find. A miss concerns one figure only, so it is split over looks alone.
    """
    share = shares(look)
    among = max(1, hypotheses)
    return Errors(policy.alarm * share.alarm / among, policy.miss * share.miss, policy.day / among)
