"""Differences between runs now and runs before, with the noise at two levels: runs within a session, and sessions.

All on a log scale: run times are positive and their noise multiplies, so a ratio is the natural effect and logs make it
a difference. scipy is imported where it is used: collecting a suite must stay quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, inf, log, sqrt

from pytest_tfperf.records.difference import Difference
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.stats.sessions import pooled, summed_up
from pytest_tfperf.stats.summary import (
    RESOLUTION,
    Centre,
    bounded_exp,
    centre,
    centre_of_logs,
    logs_of,
    special,
    t_quantile,
)

LOOKS_APART = 0.03
"""Chance that sessions which differ by the noise of their runs alone look further apart."""
AGREE = 26
"""By how much the chance of a day is larger where the sessions look alike. It was chosen by simulation, as all of these
were, see docs/verdicts.md."""
A_LARGE_DAY, ITS_WEIGHT = 0.09, 1 / 3
"""Where sessions look alike, Student's t is drawn toward this, as a weighted mean of logs. It rests on the noise of the
runs, which is known to 13 % from three sessions of ten: a width that takes over all of that error has to be smaller on
average to find as much."""

DAYS_AT_MOST, DAYS_TIMES = 0.062, 3.0
"""What days of one machine differ by is taken to be no more than the first, on a log scale, and the second times what
sessions did: of two or three sessions alone, Student's t would take a loss of a third for a day's."""
DAYS_TIMES_ALONE = 4.5
"""Or this many times what sessions did, where that is more."""


def difference(now: Sequence[float], sessions: Sequence[Sequence[float]]) -> Difference:
    """`now` against what earlier sessions measured; values are positive, one a run.

    Within: trimmed means and winsorised variances (K. K. Yuen, Biometrika 61, 1974), the variance pooled over all
    sessions, or each side's own where that is larger: a machine that is noisier today is not given yesterday's noise.
    Between: the variance of the sessions' means, for the mean of K sessions and a new one, (1 + 1 / K) times.

    Raises:
        ValueError: a value is not finite and positive, or there is none on a side.
    """
    here, before = centre_of_logs(now), summed_up(sessions)
    variance, freedom = before.pooled_with(here)
    within = variance * (1 / here.left + before.share)
    if here.variance_of_mean is not None and before.variance_of_mean is not None:
        within = max(within, here.variance_of_mean + before.variance_of_mean)
    return Difference(
        log_ratio=here.mean - before.mean,
        within=within,
        within_freedom=freedom if here.left > 1 else 0,
        run_variance=variance,
        base_share=before.share,
        runs=len(now),
        between=before.between,
        between_of_runs=variance * before.between_share,
        between_freedom=before.count - 1,
    )


def outlook(sessions: Sequence[Sequence[float]]) -> Difference:
    """The difference that as fast a code would have, before anything is measured now: of no size, with their noise.

    It stands for one run now; `expected_half_width` says what more would give.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    before = summed_up(sessions)
    variance, freedom = before.pooled_with()
    return Difference(
        log_ratio=0.0,
        within=variance * (1 + before.share),
        within_freedom=freedom,
        run_variance=variance,
        base_share=before.share,
        runs=1,
        between=before.between,
        between_of_runs=variance * before.between_share,
        between_freedom=before.count - 1,
    )


def paired_difference(now: Sequence[float], before: Sequence[float]) -> Difference:
    """`now` against values of the same rounds: what both of a round share, such as a drift of the machine, cancels.

    Raises:
        ValueError: the two are not paired, a value is not finite and positive, or there is none.
    """
    if len(now) != len(before):
        raise ValueError(f"{len(now)} runs for {len(before)}: they are not paired")
    return _about(centre([one - other for one, other in zip(logs_of(now), logs_of(before))]), 0.0, (), len(now))


def level(now: Sequence[float], value: float, sessions: Sequence[Sequence[float]] = ()) -> Difference:
    """`now` against a constant; earlier sessions, if any, only add what they know of the noise of a run.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    others = [centre_of_logs(session) for session in sessions]
    return _about(centre_of_logs(now), logs_of([value])[0], others, len(now))


def half_width(found: Difference, error: float, day: float | None = None) -> float:
    """Half-width of the interval that leaves out the true difference with chance `error` on one side; inf if unknown.

    Never less than the noise of the runs alone gives: sessions that differ add degrees of freedom too, and where there
    are few, these can narrow the interval by more than the variance that comes with them widens it.

    Args:
        found: the difference.
        error: chance of the noise of the runs, and of runs and sessions together if no other is given for those.
        day: chance of what sessions differ by, held against it alone. Few sessions say so little of how they differ
            that the smallest chances would ask for an interval without an end.
    """
    return _half_width(found, found.within, found.within_freedom, error, day)


def _half_width(found: Difference, within: float, within_freedom: float, error: float, day: float | None) -> float:
    """`half_width`, where the runs have that noise."""
    of_runs = t_quantile(within_freedom, error) * sqrt(within)
    if found.between <= 0:
        return of_runs
    if day is None:
        of_both = t_quantile(found.freedom_with(within, within_freedom), error) * sqrt(within + found.between)
        return max(of_runs, of_both)
    return max(of_runs, _half_width_of_days(found, within_freedom, day))


def half_width_of_runs(found: Difference, error: float) -> float:
    """The same of the noise of the runs alone."""
    return t_quantile(found.within_freedom, error) * sqrt(found.within)


def _half_width_of_days(found: Difference, within_freedom: float, chance: float) -> float:
    """By how much a new session may differ from the mean of the saved ones.

    Sessions that differ by more than their runs explain (F test) show how much days differ. Where they do not, they may
    still have agreed by luck: then as much is allowed for as they differ by, and as much again as the test would just
    have let pass. That they rarely do where days differ, so that the chance may be larger. Two that agree are taken as
    one. And no day explains any loss whatever.
    """
    apart = sqrt(found.between)
    most = max(DAYS_AT_MOST + DAYS_TIMES * apart, DAYS_TIMES_ALONE * apart)
    let_pass = _f_quantile(found.between_freedom, within_freedom, LOOKS_APART) * found.between_of_runs
    if found.between > let_pass:
        return min(most, t_quantile(found.between_freedom, chance) * apart)
    if found.between_freedom < 2:
        return 0.0  # else less would be found against two that agree than against one alone, which knows of no days
    if AGREE * chance >= 0.5:
        return 0.0
    width = t_quantile(found.between_freedom, AGREE * chance) * sqrt(found.between + let_pass)
    return min(most, exp(ITS_WEIGHT * log(A_LARGE_DAY) + (1 - ITS_WEIGHT) * log(width)))


def interval(found: Difference, error: float, day: float | None = None, least: float = 0.0) -> Estimate:
    """The ratio with its two-sided interval, `error` on each side; `day` as `half_width` has it, `least` its least."""
    half = max(least, half_width(found, error, day))
    return Estimate(
        bounded_exp(found.log_ratio),
        bounded_exp(found.log_ratio - half),
        bounded_exp(found.log_ratio + half),
        1 - 2 * error,
        found.runs,
    )


def expected_half_width(found: Difference, runs: int, error: float, day: float | None = None) -> float:
    """`half_width` as it would be after so many runs now, at the noise seen so far."""
    return _half_width(found, *_expected_noise(found, runs), error, day)


def expected_half_width_of_runs(found: Difference, runs: int, error: float) -> float:
    """`half_width_of_runs` as it would be after so many runs now, at the noise seen so far."""
    within, freedom = _expected_noise(found, runs)
    return t_quantile(freedom, error) * sqrt(within)


def _expected_noise(found: Difference, runs: int) -> tuple[float, float]:
    """Variance of the difference by the noise of so many runs now, and its degrees of freedom."""
    freedom = found.within_freedom + runs - found.runs if found.within_freedom else 0
    return found.run_variance * (1 / runs + found.base_share), freedom


def chance_above(found: Difference, runs: int, bound: float) -> float:
    """Chance that the difference lies above `bound` after so many runs now, if it truly is as large as it looks."""
    if runs <= found.runs:
        return float(found.log_ratio > bound)
    moves = sqrt(found.run_variance * (1 / found.runs - 1 / runs))
    return float(special().ndtr((found.log_ratio - bound) / max(moves, RESOLUTION)))


def _about(here: Centre, constant: float, others: Sequence[Centre], runs: int) -> Difference:
    """A group of logs against the log of a constant, which has no noise; `others` add what they know of a run's."""
    variance, freedom = pooled([here, *others])
    return Difference(
        log_ratio=here.mean - constant,
        within=max(variance / here.left, here.variance_of_mean or 0.0),
        within_freedom=freedom if here.left > 1 else 0,
        run_variance=variance,
        base_share=0.0,
        runs=runs,
    )


@lru_cache(maxsize=4096)
def _f_quantile(freedom: float, of_noise: float, error: float) -> float:
    return float(special().fdtri(freedom, of_noise, 1 - error)) if of_noise > 0 else inf
