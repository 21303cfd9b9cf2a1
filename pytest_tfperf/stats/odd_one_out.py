"""Whether one of several equal things stands out from the others, seen in a few rounds of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from statistics import fmean, median

from pytest_tfperf.stats.summary import RESOLUTION, logs_of, t_quantile

_MEDIAN = pi / 2


def surely_above(rounds: Sequence[Sequence[float]], chance: float) -> tuple[bool, ...]:
    """For each of N members, whether its values lie above the median of the others' beyond their noise.

    `rounds` is R rounds of N positive values, a column a member; `chance` is that of finding any where all members are
    alike, shared out among the N (Bonferroni). A round's members are held against each other, so what moves a whole
    round cancels, and the logs of the ratios are tested by Student's t. The noise is that of all members together, from
    the residuals of rounds and members (two-way analysis of variance, (N - 1)(R - 1) degrees of freedom), so few rounds
    of many members are enough; or the member's own where that is larger. Fewer than two rounds or members find nothing.

    Raises:
        ValueError: a value is not finite and positive, or the rounds differ in length.
    """
    logs = [logs_of(values) for values in rounds]
    count = len(logs[0]) if logs else 0
    if any(len(values) != count for values in logs):
        raise ValueError("rounds of different lengths")
    if len(logs) < 2 or count < 2:
        return (False,) * count
    pooled = max(_residual_variance(logs), RESOLUTION**2)
    freedom = (count - 1) * (len(logs) - 1)
    found = []
    for member in range(count):
        apart = [values[member] - median(values[:member] + values[member + 1 :]) for values in logs]
        # Of a member, and of the median of the others: of one or two the mean, of many pi / 2 times as noisy.
        middle = fmean(apart)
        own = sum((value - middle) ** 2 for value in apart) / (len(apart) - 1)
        spread = max(pooled * (1 + (_MEDIAN if count > 3 else 1) / (count - 1)), own)
        found.append(middle > t_quantile(freedom, chance / count) * sqrt(spread / len(logs)))
    return tuple(found)


def _residual_variance(logs: Sequence[Sequence[float]]) -> float:
    """What is left of the variance when each round's and each member's mean is taken out."""
    of_rounds = [fmean(values) for values in logs]
    of_members = [fmean(column) for column in zip(*logs)]
    whole = fmean(of_rounds)
    squares = sum(
        (value - of_round - of_member + whole) ** 2
        for values, of_round in zip(logs, of_rounds)
        for value, of_member in zip(values, of_members)
    )
    return squares / ((len(of_rounds) - 1) * (len(of_members) - 1))
