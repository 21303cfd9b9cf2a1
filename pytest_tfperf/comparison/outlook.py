"""Whether further rounds can still decide: a gate that cannot know does not measure on for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_tfperf.comparison.chances import Errors, errors_at
from pytest_tfperf.comparison.effect import ALONE, log_loss, shown_by
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import Comparison
from pytest_tfperf.records.look import Look
from pytest_tfperf.stats.difference import (
    chance_above,
    expected_half_width,
    expected_half_width_of_runs,
    outlook,
)
from pytest_tfperf.stats.spending import look_rounds

HOPE = 0.10
"""Less of a chance than this is not worth the rounds (stochastic curtailment: K. K. G. Lan, R. Simon and M. Halperin,
Sequential Analysis 1, 1982). Ending early for want of hope raises no false alarm: it only ends as `inconclusive`."""
_MOST_ROUNDS = 1000


def may_alarm(comparison: Comparison, tolerance: float, look: Look, last: Errors, *, has_company: bool) -> bool:
    """Whether the figure may still be found regressed by the last planned round, or E(N) to rise as T(1) falls.

    `has_company`: T(1) and T(N) are both judged, and E(N) beside them.
    """
    found = comparison.difference
    if not found.within_freedom:
        return True
    # That E(N) will show it to be this figure's own, which days rarely do, is the better prospect.
    alone = has_company and comparison.metric in ("reference", "throughput")
    bound = max(_alarm_width(comparison, look.planned, last, alone=alone), log_loss(tolerance))
    falls = 1 - chance_above(found, look.planned, -bound)
    rises = chance_above(found, look.planned, bound) if comparison.metric == "efficiency" else 0.0
    return max(falls, rises) > HOPE


def _alarm_width(comparison: Comparison, rounds: int, last: Errors, *, alone: bool) -> float:
    """By how much the figure has to differ for an alarm, a difference of logs, where so many rounds are the last.

    `alone`: E(N) shows that it moved alone.
    """
    sides = 2 if comparison.metric == "efficiency" else 1
    day, days = (last.day_alone, 0.0) if alone else (last.day / sides, comparison.days)
    return max(days, expected_half_width(comparison.difference, rounds, last.alarm / sides, day))


def may_be_assured(comparison: Comparison, tolerance: float, look: Look, last: Errors) -> bool:
    """Whether a loss beyond the tolerance may still be excluded by the last planned round."""
    found = comparison.difference
    if not found.within_freedom:
        return True
    width = expected_half_width(found, look.planned, last.miss)
    return chance_above(found, look.planned, width - log_loss(tolerance)) > HOPE


def rounds_needed(
    comparison: Comparison, beside: Sequence[Comparison], tolerance: float, errors: Errors, last: Errors
) -> int | None:
    """Rounds that would decide what is open: rule out a loss of `tolerance` or, of what looks lost beyond it, raise the
    alarm, if all of `beside`, the arm's figures, are as they look.

    None where no number of rounds does: sessions differ too much, the baseline's own noise or what a day may do is in
    the way, the noise is not known, or a loss is ruled out already.
    """
    found, allowed = comparison.difference, log_loss(tolerance)
    if not found.within_freedom or comparison.assured.low >= 1 - tolerance:
        return None
    lost = max(0.0, -found.log_ratio)
    if lost < allowed:
        return _fewest(lambda rounds: expected_half_width(found, rounds, errors.miss) <= allowed - lost)
    others = {each.metric: each for each in beside}
    of_one = "common" in others and comparison.metric in ("reference", "throughput")
    if comparison.is_own or "common" not in others:
        return _fewest(lambda rounds: _alarm_width(comparison, rounds, last, alone=of_one) <= lost)
    efficiency, common = others["efficiency"], others["common"]
    toward, needed = shown_by(efficiency, comparison)
    if of_one and toward > needed:
        # E(N) shows it, but not beyond its own noise yet.
        return _fewest(
            lambda rounds: (
                expected_half_width_of_runs(efficiency.difference, rounds, ALONE) < toward
                and _alarm_width(comparison, rounds, last, alone=True) <= lost
            )
        )
    both = -common.difference.log_ratio
    return None if both < allowed else _fewest(lambda rounds: _alarm_width(common, rounds, last, alone=False) <= both)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The fewest rounds that are enough, by bisection; None where the most that anybody measures are not."""
    low, high = 2, 2
    while not enough(high):  # most answers are small numbers
        if high == _MOST_ROUNDS:
            return None
        low, high = high + 1, min(2 * high, _MOST_ROUNDS)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def rounds_to_decide(
    entry: BaselineEntry, tolerance: float, planned: int, policy: ComparisonPolicy, *, own_reference: bool
) -> int:
    """Rounds that a gate on as fast a code is expected to need before it is called unchanged; `planned` at most.

    The first look at which the half-width expected of T(1) and of T(N) is no more than the tolerance. `own_reference`:
    True where T(N) is T(1).
    """
    figures = [[session.reference_throughput for session in entry.sessions]]
    if not own_reference:
        figures.append([session.throughput for session in entry.sessions])
    expected = [outlook(sessions) for sessions in figures]
    if not all(each.within_freedom for each in expected):
        return planned
    for rounds in look_rounds(planned):
        error = errors_at(Look(rounds, planned), policy, 1).miss
        if all(expected_half_width(each, rounds, error) <= log_loss(tolerance) for each in expected):
            return rounds
    return planned
