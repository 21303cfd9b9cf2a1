"""The job's rate in each of a run's timed windows, and what to make of windows that are unlike the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pytest_tfperf.records.run import TaskRun
from pytest_tfperf.units import format_percent, plural

_FEWEST = 5
"""Windows without which nobody can say which of them is the odd one."""
_SCALED_MAD = 1.4826
"""Median absolute deviation x this is the standard deviation of normal noise (F. R. Hampel, JASA 69, 1974)."""
_DEVIATIONS = 5.0
_SHARE = 0.10
"""Less than this from the median is not worth leaving out, however quiet the other windows are."""
_MOST_OUTLIERS = 1 / 3
"""Where more of the windows are unlike the rest the run has two speeds, and a median would hide one of them."""


@dataclass(frozen=True)
class Rate:
    """Examples per second of the whole job over a run."""

    value: float
    outliers: str = ""
    """Which windows were left out of it, as a sentence; empty where all count."""


def examples_between(task: TaskRun, start: float, end: float) -> float:
    """Examples of the windows, those that reach over an edge counted by the part that lies inside."""
    total = 0.0
    for window in task.windows:
        inside = min(window.end, end) - max(window.start, start)
        if inside > 0:
            total += window.steps * task.examples_per_step * inside / window.seconds
    return total


def rate_between(tasks: Sequence[TaskRun], start: float, end: float) -> Rate:
    """Rate of all tasks together between two moments, at which every one of them is in its timed windows.

    The examples over the time; but where a few windows are outliers the median of the windows' rates: something held
    the job up for a moment, which is not its speed. A window is one if its rate lies more than 5 scaled median absolute
    deviations and more than 10 % from the median, of five windows at least.
    """
    whole = _rate(tasks, start, end)
    rates = [_rate(tasks, *piece) for piece in _pieces(tasks, start, end)]
    if len(rates) < _FEWEST:
        return Rate(whole)
    middle = median(rates)
    spread = _SCALED_MAD * median([abs(rate - middle) for rate in rates])
    bound = max(_DEVIATIONS * spread, _SHARE * middle)
    outliers = [rate for rate in rates if abs(rate - middle) > bound]
    if not outliers or len(outliers) > _MOST_OUTLIERS * len(rates):
        return Rate(whole)
    return Rate(middle, _words(outliers, middle, len(rates)))


def _rate(tasks: Sequence[TaskRun], start: float, end: float) -> float:
    return sum(examples_between(task, start, end) for task in tasks) / (end - start)


def _pieces(tasks: Sequence[TaskRun], start: float, end: float) -> list[tuple[float, float]]:
    """The stretch cut where windows of one task end, so that each piece is a window of the job.

    Tasks that wait for each other all have the same windows. Of others that one is taken whose windows differ most in
    length: cut at another's, a stall would be spread over its neighbours. What is left of a window at an end of the
    stretch counts if it is at least half as long as the others.
    """

    def inside(task: TaskRun) -> list[tuple[float, float]]:
        clipped = [(max(window.start, start), min(window.end, end)) for window in task.windows]
        return [(low, high) for low, high in clipped if high > low]

    def unevenness(task: TaskRun) -> float:
        lengths = [high - low for low, high in inside(task)]
        return max(lengths) / median(lengths)

    pieces = inside(max(tasks, key=unevenness))
    usual = median([high - low for low, high in pieces])
    return [(low, high) for low, high in pieces if high - low >= usual / 2]


def _words(outliers: Sequence[float], middle: float, count: int) -> str:
    """Figures are those of a step's time, as people compare them: half the rate is 100 % longer."""
    changes = [middle / rate - 1 if rate > 0 else float("inf") for rate in outliers]
    which = f"{len(outliers)} of {plural(count, 'window')}"
    if min(changes) > 0:
        least = _at_least(min(changes))
        took = f"took more than {least} longer than the median" if least else "stood still"
    elif max(changes) < 0:
        took = f"took more than {_at_least(-max(changes))} less than the median"
    else:
        took = f"lay more than {_at_least(min(map(abs, changes)))} from the median"
    return f"{which} {took}; the run's figure is the median of its windows"


def _at_least(change: float) -> str:
    """In whole percent, rounded down, so that "more than" holds; empty where there is no figure."""
    return "" if change == float("inf") else format_percent(int(100 * change) / 100, decimals=0)
