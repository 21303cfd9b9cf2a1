"""Runs that are left out of a mean, as they lie far from all others: nobody should find that out by adding up."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from pytest_tfperf.stats.summary import logs_of, outliers
from pytest_tfperf.units import format_number, format_percent, plural

WORTH_TELLING = 0.02
"""By how much such a run differs from the others at least, to be told: others nobody would care for."""


def left_out(label: str, throughputs: Mapping[int, float]) -> tuple[str, ...]:
    """A sentence for each run that is left out of the mean of these.

    Args:
        label: ``T(4)``.
        throughputs: of the runs, in examples/s, by the round in which each was made.
    """
    runs = list(throughputs.items())
    apart = [runs[place] for place in outliers(logs_of(list(throughputs.values())))]
    others = [run[1] for run in runs if run not in apart]
    middle = fmean(others)
    return tuple(
        f"Left out: {label} of round {number}, {format_number(value)} examples/s, is "
        f"{format_percent(abs(value / middle - 1))} {'below' if value < middle else 'above'} "
        f"the other {plural(len(others), 'run')}, which are within {format_percent(max(others) / min(others) - 1)}."
        for number, value in apart
        if abs(value / middle - 1) > WORTH_TELLING
    )
