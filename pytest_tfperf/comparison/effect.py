"""Effects and their intervals: an arm's runs summed up, and held against earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf, log, sqrt

from pytest_tfperf.comparison.chances import Errors
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import Comparison, Figures, Metric
from pytest_tfperf.records.difference import Difference
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.stats.difference import (
    difference,
    half_width_of_runs,
    interval,
    paired_difference,
)
from pytest_tfperf.stats.summary import bounded_exp, centre_of_logs, geometric_mean

_SHOWN_CONFIDENCE = 0.95

ALONE = 0.002
"""Chance that noise alone lets E(N) say that one of T(1) and T(N) moved without the other."""
EACH = 0.05
"""Chance that noise alone lets one of T(1) and T(N) seem slower, for what both lost."""
OWN_SHARE = 0.5
"""Share of a figure's loss that E(N) must show for the loss to be that figure's own."""

UNKNOWN_DAYS = 0.04
"""What a day is taken to do to T(1) and T(N), as a difference of logs, until three sessions say what it does here."""


def efficiencies(reference: Sequence[float], throughput: Sequence[float], replicas: int) -> tuple[float, ...]:
    """E(N) = T(N) / (N x T(1)) of each round: both arms ran within minutes, so slow drift cancels.

    Raises:
        ValueError: the two are not paired, or a reference run has no speed.
    """
    return _efficiencies(tuple(reference), tuple(throughput), replicas)


@lru_cache(maxsize=512)
def _efficiencies(reference: tuple[float, ...], throughput: tuple[float, ...], replicas: int) -> tuple[float, ...]:
    """Kept for a while: figures, comparison and floor ask for those of the same runs, and each look for stored ones."""
    return tuple(ratio / replicas for ratio in _ratios(throughput, reference, "reference runs", "efficiency"))


def figures(runs: PairedRuns, replicas: int) -> Figures:
    """Sum up paired runs; throughputs in examples/s of the whole job, step times in seconds."""

    def mean(values: Sequence[float]) -> Estimate:
        return geometric_mean(values, _SHOWN_CONFIDENCE)

    return Figures(
        reference=mean(runs.reference),
        throughput=mean(runs.throughput),
        efficiency=mean(efficiencies(runs.reference, runs.throughput, replicas)),
        step_time=mean(runs.step_time),
        # As with efficiency: the two of a round ran within minutes, so their ratio is free of slow drift.
        speedup=mean(speedups(runs)) if runs.versus else None,
    )


def stored_figures(entry: BaselineEntry) -> Figures:
    """What a baseline's sessions come to, as a gate's table shows it: means of sessions, with the noise of all runs."""
    count, sessions = entry.replicas, entry.sessions
    return Figures(
        reference=_stored([each.reference_throughput for each in sessions]),
        throughput=_stored([each.throughput for each in sessions]),
        efficiency=_stored([efficiencies(each.reference_throughput, each.throughput, count) for each in sessions]),
        step_time=_stored([each.step_time for each in sessions]),
    )


def _stored(sessions: Sequence[Sequence[float]]) -> Estimate:
    """A mean of sessions, not of all their runs, as sessions may have more of them or fewer."""
    return _around(sum(centre_of_logs(session).mean for session in sessions) / len(sessions), sessions)


def _around(middle: float, sessions: Sequence[Sequence[float]]) -> Estimate:
    """An estimate at `middle`, a log, with the noise of all runs of the sessions."""
    runs = _of_all_runs(tuple(map(tuple, sessions)))
    shift = bounded_exp(middle - log(runs.value))
    return Estimate(runs.value * shift, runs.low * shift, runs.high * shift, _SHOWN_CONFIDENCE, runs.n)


@lru_cache(maxsize=512)
def _of_all_runs(sessions: tuple[tuple[float, ...], ...]) -> Estimate:
    """Kept for a while: every look at an arm asks for the same."""
    return geometric_mean([value for session in sessions for value in session], _SHOWN_CONFIDENCE)


def speedups(runs: PairedRuns) -> list[float]:
    """S(N) of each round: throughput over that of what the arm is held against.

    Raises:
        ValueError: the two are not paired, or one of the latter has no speed.
    """
    return _ratios(runs.throughput, runs.versus, "runs to be faster than", "speed-up")


def _ratios(own: Sequence[float], others: Sequence[float], what: str, figure: str) -> list[float]:
    if len(own) != len(others):
        raise ValueError(f"{len(others)} {what} for {len(own)} runs: {figure} needs pairs")
    for other in others:
        if not 0 < other < inf:
            raise ValueError(f"{other!r} among the {what} is not a positive, finite number")
    return [one / other for one, other in zip(own, others)]


def compare_arm(
    runs: PairedRuns,
    baseline: BaselineEntry,
    against: PairedRuns | None,
    label: str,
    errors: Errors,
    *,
    own_reference: bool,
) -> tuple[Comparison, ...]:
    """T(1), T(N) and E(N) against the saved sessions, or against runs of the same rounds where there are such.

    Only T(1) for an arm that is its own reference. Against saved sessions also what T(1) and T(N) have in common:
    half of the noise of their runs is gone from it, and all of a slowdown of both is in it.
    """
    count = baseline.replicas
    before = [(each.reference_throughput, each.throughput) for each in baseline.sessions]
    if against is not None:
        before = [(against.reference, against.throughput)]
    paired = against is not None

    def compare(
        metric: Metric, name: str, of: Callable[[Sequence[float], Sequence[float]], Sequence[float]]
    ) -> Comparison:
        now, earlier = of(runs.reference, runs.throughput), [of(one, own) for one, own in before]
        return _compare(metric, name, now, earlier, errors, paired=paired)

    reference = compare("reference", "T(1)", lambda one, own: one)
    if own_reference:
        return (reference,)
    throughput = compare("throughput", label, lambda one, own: own)
    efficiency = compare("efficiency", f"E({count})", lambda one, own: efficiencies(one, own, count))
    if paired:
        return reference, throughput, efficiency
    return (
        _seen_beside(reference, efficiency, errors),
        _seen_beside(throughput, efficiency, errors),
        efficiency,
        replace(
            compare("common", f"T(1) x {label}", lambda one, own: [sqrt(a) * sqrt(b) for a, b in zip(one, own)]),
            is_own=all(_fell(each.difference, EACH) for each in (reference, throughput)),
        ),
    )


def _seen_beside(figure: Comparison, efficiency: Comparison, errors: Errors) -> Comparison:
    """T(1) or T(N) against saved sessions, in the light of E(N), which says whether it moved alone.

    A day that is slower or faster is so for both, and E(N) does not show it. So days are less of an excuse for what
    E(N) shows for the most part.
    """
    toward, needed = shown_by(efficiency, figure)
    if toward <= max(half_width_of_runs(efficiency.difference, ALONE), needed):
        return replace(figure, is_own=False)
    return replace(
        figure,
        change=interval(figure.difference, errors.alarm, errors.day_alone),
        day_confidence=figure.day_confidence and 1 - 2 * errors.day_alone,
        days=0.0,
    )


def shown_by(efficiency: Comparison, figure: Comparison) -> tuple[float, float]:
    """How far E(N) went where it goes if T(1) or T(N) alone moves as it did, and how far it has to go to show that.

    Both are differences of logs; the first is negative where E(N) went the other way.
    """
    moved, seen = figure.difference.log_ratio, efficiency.difference.log_ratio
    rises = figure.metric == "reference"  # E(N) goes up as T(1) gets slower, and down as T(N) does
    return (seen if rises == (moved < 0) else -seen), OWN_SHARE * abs(moved)


def _fell(found: Difference, chance: float) -> bool:
    """Whether the noise of the runs alone leaves a loss."""
    return -found.log_ratio > half_width_of_runs(found, chance)


def _compare(
    metric: Metric,
    label: str,
    now: Sequence[float],
    before: Sequence[Sequence[float]],
    errors: Errors,
    *,
    paired: bool,
) -> Comparison:
    found = paired_difference(now, before[0]) if paired else difference(now, before)
    # E(N) alarms in both directions: a fall is a loss of scaling, a rise can be a loss of T(1).
    sides = 2 if metric == "efficiency" else 1
    alarm, day = errors.alarm / sides, errors.day / sides
    days = 0.0 if paired or metric == "efficiency" or found.between_freedom > 1 else UNKNOWN_DAYS
    here = geometric_mean(now, _SHOWN_CONFIDENCE)
    return Comparison(
        metric=metric,
        label=label,
        baseline=_around(log(here.value) - found.log_ratio, before),
        now=here,
        change=interval(found, alarm, day, least=days),
        assured=interval(found, errors.miss),
        difference=found,
        sessions=0 if paired else len(before),
        day_confidence=1 - 2 * day if found.between > 0 else None,
        days=days,
    )


def log_loss(tolerance: float) -> float:
    """A relative loss on a log scale, as a positive number; inf for a tolerance of everything, which a file may set."""
    return -log(1 - tolerance) if tolerance < 1 else inf
