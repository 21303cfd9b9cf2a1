"""Which tolerance the noise of saved sessions supports, before a gate is held against them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, sqrt

from pytest_tfperf.comparison.chances import errors_at
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.difference import Difference
from pytest_tfperf.records.look import Look
from pytest_tfperf.stats.difference import expected_half_width, outlook
from pytest_tfperf.stats.spending import look_rounds
from pytest_tfperf.stats.summary import coefficient_of_variation, geometric_mean, special

_ASSURED = 0.9
"""Gates of ten on as fast a code that are to end as `unchanged`."""
_STEP = 0.005
_MOST_ROUNDS = 1000


@dataclass(frozen=True)
class Support:
    """What the noise of an arm's saved sessions supports; noise as fractions, of the noisier of T(1) and T(N)."""

    tolerance: float | None
    """Smallest one, in steps of half a percent, at which as fast a code is called unchanged nine times in ten; None
    where no tolerance is."""
    rounds_needed: int | None
    """Rounds, a gate's or more, in which the tolerance asked for is supported; None where no number would do."""
    run_noise: float
    """Coefficient of variation from run to run, within a session."""
    session_noise: float | None
    """That of the sessions' means; None where there is one session."""
    sessions: int
    """Sessions that there are."""
    sessions_differ: bool
    """True where the scatter is that of sessions more than that of runs, so that more rounds hardly help."""


def supported_tolerance(
    entry: BaselineEntry, *, asked: float, rounds: int, policy: ComparisonPolicy, own_reference: bool
) -> Support | None:
    """Say which tolerance a gate of at most so many rounds can have against these sessions.

    A gate calls a figure unchanged where it lies above the tolerance by half an interval. That happens nine times in
    ten if the tolerance is as wide as the half-width expected at the last look and the normal quantile of how far the
    figure of as fast a code strays. Looks before the last only add to the chance. T(1) and T(N) must both be unchanged,
    so that each may fail half as often (Bonferroni); E(N) then is excused.

    Args:
        asked: the arm's tolerance, a fraction.
        rounds: of a gate, at most.
        own_reference: True where T(N) is T(1).

    Returns:
        None where the sessions do not show the noise of a run.
    """
    figures = [[session.reference_throughput for session in entry.sessions]]
    if not own_reference:
        figures.append([session.throughput for session in entry.sessions])
    expected = [outlook(sessions) for sessions in figures]
    if not all(each.within_freedom for each in expected):
        return None

    def smallest(rounds: int) -> float:
        return max(_smallest(each, rounds, policy, len(expected)) for each in expected)

    size = -log(1 - asked)
    steps = ceil((1 - exp(-smallest(rounds))) / _STEP - 1e-9)
    needed = _fewest(rounds, lambda count: smallest(count) <= size)
    several = len(entry.sessions) > 1
    widest = max(expected, key=lambda each: _smallest(each, rounds, policy, len(expected)))
    return Support(
        tolerance=steps * _STEP if steps * _STEP < 1 else None,
        rounds_needed=needed,
        run_noise=max(sqrt(each.run_variance) for each in expected),
        session_noise=max(_scatter(sessions) for sessions in figures) if several else None,
        sessions=len(entry.sessions),
        sessions_differ=several and widest.between > _of_runs(widest, rounds),
    )


def _fewest(rounds: int, enough: Callable[[int], bool]) -> int | None:
    """Fewest rounds that are enough, of `rounds` and more; None where `_MOST_ROUNDS` are not.

    More rounds support a finer tolerance only while the looks, which share the error, stay as many: between two looks
    the answer can be halved for, and the last round before the next look tells whether it lies there.
    """
    start = max(2, rounds)
    for end in look_rounds(_MOST_ROUNDS):
        if start <= end and enough(end):
            return start + bisect_left(range(start, end), True, key=enough)
        start = max(start, end + 1)
    return None


def _smallest(expected: Difference, rounds: int, policy: ComparisonPolicy, figures: int) -> float:
    """Smallest supported tolerance of one of so many figures, on a log scale."""
    if rounds < 2:
        return inf  # one run now says nothing of its noise
    error = errors_at(Look(rounds, rounds), policy, 1).miss
    strays = sqrt(_of_runs(expected, rounds) + expected.between)
    return expected_half_width(expected, rounds, error) + float(special().ndtri(1 - (1 - _ASSURED) / figures)) * strays


def _of_runs(expected: Difference, rounds: int) -> float:
    """Variance of the difference that the noise of the runs makes, after so many now."""
    return expected.run_variance * (1 / rounds + expected.base_share)


def _scatter(sessions: Sequence[Sequence[float]]) -> float:
    return coefficient_of_variation([geometric_mean(values, 0.5).value for values in sessions])
