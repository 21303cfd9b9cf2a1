"""Intervals of one sample and of the difference between two, on a log scale.

Run times are positive and their noise is multiplicative, so a ratio is the natural effect and logs make it a
difference. scipy is imported where it is used: collecting a suite must stay quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isfinite, log, sqrt

from pytest_tfperf.records.estimate import Estimate

# Identical values would give an interval of no width at all, from a timer that cannot resolve more.
_RESOLUTION = 1e-6


def coefficient_of_variation(values: Sequence[float]) -> float:
    """Standard deviation (n - 1) over mean; nan for fewer than two values."""
    if len(values) < 2:
        return float("nan")
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def geometric_mean(values: Sequence[float], confidence: float) -> Estimate:
    """Geometric mean of positive values with Student's t interval of their logs.

    One value has an unbounded interval: nothing is known of its noise.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    logs = _logs(values)
    mean = sum(logs) / len(logs)
    half = _t_half_width(_variance(logs) / len(logs), len(logs) - 1, confidence) if len(logs) > 1 else inf
    return Estimate(exp(mean), exp(mean - half), _exp(mean + half), confidence, len(logs))


def ratio(now: Sequence[float], before: Sequence[float], confidence: float) -> Estimate:
    """`now` / `before` as the ratio of geometric means, with the interval of Welch's unequal-variances t.

    B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 34 (1947). With fewer than two values on a side the interval is unbounded.

    Raises:
        ValueError: a value is not finite and positive, or a side is empty.
    """
    a, b = _logs(now), _logs(before)
    difference = sum(a) / len(a) - sum(b) / len(b)
    if len(a) < 2 or len(b) < 2:
        half = inf
    else:
        part_a, part_b = _variance(a) / len(a), _variance(b) / len(b)
        # Welch-Satterthwaite degrees of freedom.
        freedom = (part_a + part_b) ** 2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
        half = _t_half_width(part_a + part_b, freedom, confidence)
    return Estimate(exp(difference), exp(difference - half), _exp(difference + half), confidence, len(a))


def runs_needed(now: Sequence[float], before: Sequence[float], size: float, confidence: float) -> int | None:
    """Runs a side after which an interval would be as narrow as +- `size` (a fraction), at the noise seen here.

    None where fewer than two values on a side leave the noise unknown.
    """
    if len(now) < 2 or len(before) < 2:
        return None
    variance = _variance(_logs(now)) + _variance(_logs(before))
    for count in range(2, 1000):
        if _t_half_width(variance / count, 2 * (count - 1), confidence) <= -log(1 - size):
            return count
    return 1000


def _logs(values: Sequence[float]) -> list[float]:
    if not values:
        raise ValueError("no values")
    for value in values:
        if not (isfinite(value) and value > 0):
            raise ValueError(f"{value!r} is not a positive, finite number")
    return [log(value) for value in values]


def _variance(logs: Sequence[float]) -> float:
    mean = sum(logs) / len(logs)
    return max(sum((value - mean) ** 2 for value in logs) / (len(logs) - 1), _RESOLUTION**2)


def _t_half_width(variance_of_mean: float, freedom: float, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2)) * sqrt(variance_of_mean)


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf
