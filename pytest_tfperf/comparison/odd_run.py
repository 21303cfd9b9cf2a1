"""A run that may turn out to be an outlier: with too few rounds to tell, what the others would say without it."""

from __future__ import annotations

from collections.abc import Collection
from math import sqrt

from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.stats.difference import outlook
from pytest_tfperf.stats.summary import RUNS_PER_OUTLIER, apart, logs_of


def odd_rounds(runs: PairedRuns, baseline: BaselineEntry, look: Look) -> set[int]:
    """Places of the rounds in which T(1) or T(N) lies far from its other rounds: one of each at most.

    From `RUNS_PER_OUTLIER` runs on an outlier is left out anyhow, and a session that will not have so many leaves none
    out. How far is far is what it is there, or as wide for the noise of the saved sessions if that is wider, since two
    or three runs may lie close together by chance. Of two runs far apart the slower one is taken: what holds a run up
    is common, and what speeds one up is not.
    """
    if look.planned < RUNS_PER_OUTLIER or look.round >= RUNS_PER_OUTLIER:
        return set()
    saved = [each.reference_throughput for each in baseline.sessions], [each.throughput for each in baseline.sessions]
    return {
        place
        for values, sessions in zip((runs.reference, runs.throughput), saved, strict=True)
        # Four runs, as many as will be left, are apart by two standard deviations on average.
        for place in apart(logs_of(values), 1, least=2 * sqrt(outlook(sessions).run_variance))
    }


def without(runs: PairedRuns, places: Collection[int]) -> PairedRuns:
    """The runs of all other rounds."""
    parts = (runs.reference, runs.reference_step_time, runs.throughput, runs.step_time, runs.versus)
    return PairedRuns(*(tuple(value for place, value in enumerate(part) if place not in places) for part in parts))
