"""One sample summed up: centre, spread and interval, on a log scale.

scipy is imported where it is used: collecting a suite must stay quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, inf, log, sqrt
from typing import Any

from pytest_tfperf.records.estimate import Estimate

RESOLUTION = 1e-6
"""Identical values would give an interval of no width at all, from a timer that cannot resolve more."""

_RUNS_PER_TRIMMED = 8
"""One run at each end is left out of the mean for each eight: of fewer, none can be spared."""

RUNS_PER_OUTLIER = 5
"""Of so many runs one may be an outlier: fewer do not tell which of them is one."""
_GAP = 3
"""By how much the gap to an outlier is wider than all other runs are apart. For one of five that is Dixon's criterion
at a chance of about 3 %: gap over range above 3/4, where his table has 0.71 at 5 % and 0.82 at 1 %."""


@dataclass(frozen=True)
class Centre:
    """A group of logs: its mean, and what its spread is to be reckoned from."""

    mean: float
    """Trimmed mean."""
    squares: float
    """Winsorised sum of squares about the winsorised mean."""
    left: int
    """Values that were neither trimmed nor outliers."""

    @property
    def variance_of_mean(self) -> float | None:
        """From these values alone; None for one."""
        return self.squares / ((self.left - 1) * self.left) if self.left > 1 else None


def centre(logs: Sequence[float]) -> Centre:
    """Trimmed mean with the winsorised sum of squares that belongs to it, without `outliers`.

    J. W. Tukey and D. H. McLaughlin, Sankhya A 25 (1963). A mean of all where there are fewer than eight.
    """
    apart = outliers(logs)
    if apart:
        logs = [value for place, value in enumerate(logs) if place not in apart]
    cut = len(logs) // _RUNS_PER_TRIMMED
    if not cut:
        mean = sum(logs) / len(logs)
        return Centre(mean, sum([(value - mean) ** 2 for value in logs]), len(logs))
    ordered = sorted(logs)
    core = ordered[cut:-cut]
    winsorised = [core[0]] * cut + core + [core[-1]] * cut
    middle = sum(winsorised) / len(winsorised)
    return Centre(sum(core) / len(core), sum([(value - middle) ** 2 for value in winsorised]), len(core))


def outliers(logs: Sequence[float]) -> tuple[int, ...]:
    """Places of the runs that lie far from all others: at most one of five, all of them at one end.

    Every large program stops now and then for something else. One such run of five says nothing of the others' speed,
    and without this it would leave the five undecided whatever they show. W. J. Dixon, Annals of Mathematical
    Statistics 21 (1950), compares the gap to an extreme value with the range in the same way.
    """
    ordered = sorted(logs)
    for count in range(len(logs) // RUNS_PER_OUTLIER, 0, -1):
        if places := _apart(logs, ordered, count, RESOLUTION):
            return places
    return ()


def apart(logs: Sequence[float], count: int, least: float) -> tuple[int, ...]:
    """Places of the `count` lowest or highest logs where these are far from all others; none where neither are.

    Far is a gap of `_GAP` times what the others are apart, which counts as `least` where it is less. Where both ends
    are far, as with two logs, the lower one is given.
    """
    return _apart(logs, sorted(logs), count, least)


def _apart(logs: Sequence[float], ordered: Sequence[float], count: int, least: float) -> tuple[int, ...]:
    """`apart`; `ordered` are the same logs from the lowest to the highest."""
    if count >= len(ordered):
        return ()
    end, inner = ordered[count - 1], ordered[count]
    if inner - end > _GAP * max(ordered[-1] - inner, least):
        return tuple(place for place, value in enumerate(logs) if value <= end)
    end, inner = ordered[-count], ordered[-count - 1]
    if end - inner > _GAP * max(inner - ordered[0], least):
        return tuple(place for place, value in enumerate(logs) if value >= end)
    return ()


def centre_of_logs(values: Sequence[float]) -> Centre:
    """`centre` of the values' logs. Kept for a while: every look asks for the same stored sessions.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    return _centre_of_logs(tuple(values))


@lru_cache(maxsize=512)
def _centre_of_logs(values: tuple[float, ...]) -> Centre:
    return centre(logs_of(values))


def coefficient_of_variation(values: Sequence[float]) -> float:
    """Standard deviation (n - 1) over mean; nan for fewer than two values."""
    if len(values) < 2:
        return float("nan")
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def geometric_mean(values: Sequence[float], confidence: float) -> Estimate:
    """Geometric mean without outliers, trimmed from eight values on, with Student's t interval of their logs.

    One value has an unbounded interval: nothing is known of its noise.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    return _geometric_mean(tuple(values), confidence)


@lru_cache(maxsize=512)
def _geometric_mean(values: tuple[float, ...], confidence: float) -> Estimate:
    """Kept for a while: what an arm's runs come to is a figure of its own, and one to be compared."""
    group = centre_of_logs(values)
    half = inf
    if group.left > 1:
        variance = max(group.squares / (group.left - 1), RESOLUTION**2) / group.left
        half = t_quantile(group.left - 1, 0.5 - confidence / 2) * sqrt(variance)
    return Estimate(exp(group.mean), exp(group.mean - half), bounded_exp(group.mean + half), confidence, len(values))


@lru_cache(maxsize=4096)
def t_quantile(freedom: float, error: float) -> float:
    """Student's t that is exceeded with the chance `error`; inf without degrees of freedom or without any chance."""
    return -float(special().stdtrit(freedom, error)) if freedom > 0 and error > 0 else inf


@cache
def special() -> Any:
    """`scipy.special`, imported once: an import statement in a function costs as much as what it is for."""
    import scipy.special

    return scipy.special


def logs_of(values: Sequence[float]) -> list[float]:
    """Natural logs; raises ValueError where a value is not finite and positive, or there is none."""
    if not values:
        raise ValueError("no values")
    for value in values:
        if not 0 < value < inf:
            raise ValueError(f"{value!r} is not a positive, finite number")
    return [log(value) for value in values]


def bounded_exp(value: float) -> float:
    """`exp`, infinite where a float cannot hold it."""
    return exp(value) if value < 700 else inf
