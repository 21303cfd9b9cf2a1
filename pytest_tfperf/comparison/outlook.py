"""Whether further rounds can still decide: a gate that cannot know does not measure on for nothing."""

from __future__ import annotations

from pytest_tfperf.comparison.chances import Errors, errors_at
from pytest_tfperf.comparison.effect import log_loss
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import Comparison
from pytest_tfperf.records.look import Look
from pytest_tfperf.stats.difference import chance_above, expected_half_width, outlook
from pytest_tfperf.stats.spending import look_rounds

HOPE = 0.10
"""Less of a chance than this is not worth the rounds (stochastic curtailment: K. K. G. Lan, R. Simon and M. Halperin,
Sequential Analysis 1, 1982). Ending early for want of hope raises no false alarm: it only ends as `inconclusive`."""


def may_alarm(comparison: Comparison, tolerance: float, look: Look, last: Errors, *, has_company: bool) -> bool:
    """Whether the figure may still be found regressed by the last planned round, or E(N) to rise as T(1) falls.

    `has_company`: T(1) and T(N) are both judged, and E(N) beside them.
    """
    found = comparison.difference
    if not found.within_freedom:
        return True
    both_ways = comparison.metric == "efficiency"
    sides = 2 if both_ways else 1
    day, days = last.day / sides, comparison.days
    if has_company and comparison.metric in ("reference", "throughput"):
        day, days = last.day_alone, 0.0  # that E(N) will show it to be this figure's own is the better prospect
    width = max(days, expected_half_width(found, look.planned, last.alarm / sides, day))
    bound = max(width, log_loss(tolerance))
    falls = 1 - chance_above(found, look.planned, -bound)
    rises = chance_above(found, look.planned, bound) if both_ways else 0.0
    return max(falls, rises) > HOPE


def may_be_assured(comparison: Comparison, tolerance: float, look: Look, last: Errors) -> bool:
    """Whether a loss beyond the tolerance may still be excluded by the last planned round."""
    found = comparison.difference
    if not found.within_freedom:
        return True
    width = expected_half_width(found, look.planned, last.miss)
    return chance_above(found, look.planned, width - log_loss(tolerance)) > HOPE


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
