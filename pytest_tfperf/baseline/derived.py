"""Figures in a baseline file that are there for readers only: what its sessions come to, and how much they scatter."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import exp, fsum, inf, isnan, nan, sqrt

from pytest_tfperf.baseline.codec import Data
from pytest_tfperf.baseline.schema import SERIES
from pytest_tfperf.records.baseline import BaselineSession
from pytest_tfperf.stats.summary import centre_of_logs, coefficient_of_variation

_SCATTER = ("reference_throughput", "throughput", "efficiency")
"""Figures that are judged, so that their scatter matters; that of a step time is its throughput's."""


def derived(sessions: Sequence[BaselineSession], replicas: int) -> Data:
    """Give each figure's mean, as a gate takes it, and the scatter of those that are judged, in percent.

    A mean is that of the sessions' means on a log scale, where those are trimmed, see `stats.summary.centre_of_logs`.

    ``run_cv_percent`` is the coefficient of variation of the runs of one session, pooled over the sessions: the root of
    the mean of its squares, weighted by degrees of freedom; null where no session has two runs. ``session_cv_percent``
    is that of the sessions' means, which holds what differs from day to day; null where there is one session.
    """
    if replicas < 1 or not all(_is_measured(session) for session in sessions):
        return {}  # nothing to derive from; the check of what is to be written says what is wrong
    result: Data = {}
    for name in (*SERIES, "efficiency"):
        values = [_values(session, name, replicas) for session in sessions]
        result[name] = rounded(exp(statistics.fmean(centre_of_logs(each).mean for each in values)))
        if name in _SCATTER:
            result[f"{name}_run_cv_percent"] = _percent(_pooled_cv(values))
            means = [statistics.fmean(each) for each in values]
            result[f"{name}_session_cv_percent"] = _percent(coefficient_of_variation(means))
    return result


def _is_measured(session: BaselineSession) -> bool:
    series: list[tuple[float, ...]] = [getattr(session, name) for name in SERIES]
    return len({len(values) for values in series}) == 1 and all(
        values and all(0 < value < inf for value in values) for values in series
    )


def _values(session: BaselineSession, name: str, replicas: int) -> tuple[float, ...]:
    if name == "efficiency":
        return tuple(now / (replicas * one) for one, now in zip(session.reference_throughput, session.throughput))
    values: tuple[float, ...] = getattr(session, name)
    return values


def _pooled_cv(sessions: Sequence[tuple[float, ...]]) -> float:
    several = [values for values in sessions if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    if not freedom:
        return nan
    return sqrt(fsum((len(values) - 1) * coefficient_of_variation(values) ** 2 for values in several) / freedom)


def _percent(fraction: float) -> float | int | None:
    return None if isnan(fraction) else rounded(100 * fraction, 3)


def rounded(value: float, digits: int = 6) -> float | int:
    """The value to so many significant digits, as an int where nothing is left behind the point."""
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
