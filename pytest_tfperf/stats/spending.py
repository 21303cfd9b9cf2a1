"""How the chance of a wrong verdict is spread over the looks at a growing number of rounds.

Whoever looks after every round and stops at the first alarm has as many chances of a false one as looks. So each look
gets a share of the allowed error, and the shares add up to 1: by Bonferroni's inequality the error holds over all
looks, whatever the dependence between them. The shares of alarms follow the power family of K. Kim and D. L. DeMets
(Biometrika 74, 1987) with exponent 3: little at first, as few runs show little; those of `unchanged` are even.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pytest_tfperf.records.look import Look

_FIRST_LOOK = 2
"""One run says nothing of its noise."""
_FIRST_ALARM = 3
_EXPONENT = 3
_GROWTH = 1.4
"""Beyond five rounds the next look is worth its share only after some more rounds."""


@dataclass(frozen=True)
class Shares:
    """Parts of the allowed errors that one look may spend."""

    alarm: float
    miss: float


@lru_cache(maxsize=64)
def look_rounds(planned: int) -> tuple[int, ...]:
    """Rounds after which to look, the last planned one always: 2, 3, 4, 5, 7, 10, 14, ..."""
    rounds, number = [], _FIRST_LOOK
    while number < planned:
        rounds.append(number)
        number = number + 1 if number < 5 else round(number * _GROWTH)
    return (*rounds, planned)


@lru_cache(maxsize=256)
def shares(look: Look) -> Shares:
    """What this look may spend; the last one gets all that is left, one that stands alone all there is.

    A session may end early for want of time: that is no look at the data, so what was left for later may be spent then.

    Raises:
        ValueError: there is no look after that round, or there is no such round.
    """
    if not 1 <= look.round <= look.planned:
        raise ValueError(f"round {look.round} of {look.planned}: rounds are counted from 1 to the planned number")
    if look.alone:
        return Shares(1.0, 1.0)
    rounds = look_rounds(look.planned)
    if look.round not in rounds and not look.last:
        raise ValueError(f"no look is planned after round {look.round} of {look.planned}")
    before = [number for number in rounds if number < look.round]
    alarm_spent = _alarm_spent(before[-1], look.planned) if before else 0.0
    miss_spent = len(before) / len(rounds)
    if look.last:
        return Shares(1 - alarm_spent, 1 - miss_spent)
    return Shares(_alarm_spent(look.round, look.planned) - alarm_spent, 1 / len(rounds))


def _alarm_spent(number: int, planned: int) -> float:
    return 0.0 if number < _FIRST_ALARM else min(1.0, number / planned) ** _EXPONENT
