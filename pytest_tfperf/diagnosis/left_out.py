"""Runs that are left out of a mean, as they lie far from all others: nobody should find that out by adding up."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from pytest_tfperf.stats.summary import logs_of, outliers
from pytest_tfperf.units import format_number, format_percent, plural

WORTH_TELLING = 0.02
"""By how much such a run differs from the others at least, to be told: others nobody would care for."""


def left_out(label: str, rounds: Sequence[int], throughputs: Sequence[float]) -> tuple[str, ...]:
    """A sentence for each run that is left out of the mean of these.

    Args:
        label: ``T(4)``.
        rounds: in which the runs were made.
        throughputs: of the runs, in examples/s.
    """
    apart = outliers(logs_of(throughputs))
    others = [value for place, value in enumerate(throughputs) if place not in apart]
    middle = fmean(others)
    return tuple(
        f"Left out: {label} of round {rounds[place]}, {format_number(throughputs[place])} examples/s, is "
        f"{format_percent(abs(throughputs[place] / middle - 1))} {'below' if throughputs[place] < middle else 'above'} "
        f"the other {plural(len(others), 'run')}, which are within {format_percent(max(others) / min(others) - 1)}."
        for place in apart
        if abs(throughputs[place] / middle - 1) > WORTH_TELLING
    )
