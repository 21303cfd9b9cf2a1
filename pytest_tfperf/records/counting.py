"""Which rounds of a sweep count, where something disturbed some of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

_FEWEST = 2
"""Undisturbed rounds with which something can be decided: one says nothing of its noise."""


class Seen(Protocol):
    """What is to be known of a run: `records.run.Run`, or a report's."""

    @property
    def round(self) -> int: ...
    @property
    def disturbances(self) -> Sequence[str]: ...
    @property
    def outside(self) -> bool: ...


@dataclass(frozen=True)
class Disturbed:
    """The rounds in which something disturbed one of the runs that a verdict needs."""

    outside: frozenset[int] = frozenset()
    """By what is told by the machine and has nothing to do with the code: other programs, other virtual machines."""
    perhaps_own: frozenset[int] = frozenset()
    """By what the code may do to itself as well: swap, heat. To leave those out could hide the very loss."""

    @property
    def none(self) -> bool:
        """Whether nothing disturbed any of them."""
        return not (self.outside or self.perhaps_own)

    @classmethod
    def of(cls, runs: Iterable[Seen]) -> Disturbed:
        seen = [run for run in runs if run.disturbances]
        own = frozenset(run.round for run in seen if not run.outside)
        return cls(frozenset(run.round for run in seen) - own, own)


def counting(rounds: Sequence[int], disturbed: Disturbed) -> list[int]:
    """The rounds that count: the undisturbed ones where they are fit to decide by, else all of `rounds`.

    They are fit where they are two or more, and most of the rounds: the machine was much the same in the others. Every
    other round goes through the arms, and both revisions, backwards: of either order one has to be left, so that being
    first is nobody's lot. And nothing of a round is left out for what the code may have done itself.
    """
    if disturbed.none:
        return list(rounds)
    quiet = [number for number in rounds if number not in disturbed.outside]
    fit = len(quiet) >= _FEWEST and 2 * len(quiet) > len(rounds) and len({number % 2 for number in quiet}) > 1
    return quiet if fit and not disturbed.perhaps_own.intersection(rounds) else list(rounds)


def may_count(rounds: Sequence[int], disturbed: Disturbed, planned: int) -> bool:
    """Whether undisturbed rounds up to the last planned one would make those fit to decide by."""
    if disturbed.none:
        return True
    ahead = [*rounds, *range(max(rounds, default=0) + 1, planned + 1)]
    return not {*disturbed.outside, *disturbed.perhaps_own}.intersection(counting(ahead, disturbed))
