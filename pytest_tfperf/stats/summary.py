"""One sample summed up: centre, spread and interval, on a log scale.

scipy is imported where it is used: collecting a suite must stay quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, isfinite, log, sqrt

from pytest_tfperf.records.estimate import Estimate

RESOLUTION = 1e-6
"""Identical values would give an interval of no width at all, from a timer that cannot resolve more."""

_RUNS_PER_TRIMMED = 8
"""One run at each end is left out of the mean for each eight: of fewer, none can be spared."""


@dataclass(frozen=True)
class Centre:
    """A group of logs: its mean, and what its spread is to be reckoned from."""

    mean: float
    """Trimmed mean."""
    squares: float
    """Winsorised sum of squares about the winsorised mean."""
    left: int
    """Values that were not trimmed."""


def centre(logs: Sequence[float]) -> Centre:
    """Trimmed mean with the winsorised sum of squares that belongs to it.

    J. W. Tukey and D. H. McLaughlin, Sankhya A 25 (1963). A mean of all where there are fewer than eight.
    """
    cut = len(logs) // _RUNS_PER_TRIMMED
    if not cut:
        mean = sum(logs) / len(logs)
        return Centre(mean, sum((value - mean) ** 2 for value in logs), len(logs))
    ordered = sorted(logs)
    core = ordered[cut:-cut]
    winsorised = [core[0]] * cut + core + [core[-1]] * cut
    middle = sum(winsorised) / len(winsorised)
    return Centre(sum(core) / len(core), sum((value - middle) ** 2 for value in winsorised), len(core))


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
    """Geometric mean of positive values, trimmed from eight on, with Student's t interval of their logs.

    One value has an unbounded interval: nothing is known of its noise.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    group = centre_of_logs(values)
    half = inf
    if group.left > 1:
        variance = max(group.squares / (group.left - 1), RESOLUTION**2) / group.left
        half = t_quantile(group.left - 1, 0.5 - confidence / 2) * sqrt(variance)
    return Estimate(exp(group.mean), exp(group.mean - half), bounded_exp(group.mean + half), confidence, len(values))


@lru_cache(maxsize=4096)
def t_quantile(freedom: float, error: float) -> float:
    """Student's t that is exceeded with the chance `error`; inf without degrees of freedom or without any chance."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, error)) if freedom > 0 and error > 0 else inf


def logs_of(values: Sequence[float]) -> list[float]:
    """Natural logs; raises ValueError where a value is not finite and positive, or there is none."""
    if not values:
        raise ValueError("no values")
    for value in values:
        if not (isfinite(value) and value > 0):
            raise ValueError(f"{value!r} is not a positive, finite number")
    return [log(value) for value in values]


def bounded_exp(value: float) -> float:
    """`exp`, infinite where a float cannot hold it."""
    return exp(value) if value < 700 else inf
