"""A run that may turn out to be an outlier: with too few rounds to tell, what the others would say without it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import sqrt

from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.stats.summary import GAP, RUNS_PER_OUTLIER, centre_of_logs, logs_of


def odd_rounds(runs: PairedRuns, baseline: BaselineEntry, look: Look) -> set[int]:
    """Places of the rounds in which T(1) or T(N) lies far from its other rounds: one of each at most.

    From `RUNS_PER_OUTLIER` runs on an outlier is left out anyhow, and a session that will not have so many leaves none
    out. How far is far is what it is there, or as wide for the noise of the saved sessions if that is wider, since two
    or three runs may lie close together by chance. Of two runs far apart the slower one is taken: what holds a run up
    is common, and what speeds one up is not.
    """
    if look.planned < RUNS_PER_OUTLIER or look.round >= RUNS_PER_OUTLIER:
        return set()
    reference = [session.reference_throughput for session in baseline.sessions]
    own = [session.throughput for session in baseline.sessions]
    found = (_odd_one(logs_of(runs.reference), _noise(reference)), _odd_one(logs_of(runs.throughput), _noise(own)))
    return {place for place in found if place is not None}


def without(runs: PairedRuns, places: Collection[int]) -> PairedRuns:
    """The runs of all other rounds."""
    parts = (runs.reference, runs.reference_step_time, runs.throughput, runs.step_time, runs.versus)
    return PairedRuns(*(tuple(value for place, value in enumerate(part) if place not in places) for part in parts))


def _odd_one(logs: Sequence[float], noise: float) -> int | None:
    """The place of the run that is further from all others than these and the noise explain; None where none is."""
    order = sorted(range(len(logs)), key=logs.__getitem__)
    for odd, others in ((order[0], order[1:]), (order[-1], order[:-1])):
        if not others:
            return None
        low, high = logs[others[0]], logs[others[-1]]
        gap = max(low - logs[odd], logs[odd] - high)
        if gap > GAP * max(high - low, 2 * noise):  # four runs are apart by two standard deviations, on average
            return odd
    return None


def _noise(sessions: Sequence[Sequence[float]]) -> float:
    """Standard deviation of a run's log within a session; 0 where none has two runs."""
    centres = [centre_of_logs(session) for session in sessions]
    freedom = sum(each.left - 1 for each in centres)
    return sqrt(sum(each.squares for each in centres) / freedom) if freedom else 0.0
