"""A moment at which the runs so far are judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """How far a sweep is when its arms are judged."""

    round: int
    """Rounds measured so far."""
    planned: int
    """Rounds that may be measured at most."""
    final: bool = False
    """True where no further round follows whatever the verdict, for instance as the time is spent."""
    alone: bool = False
    """True where it is the only look, so that no other has spent any of the allowed error."""

    @property
    def last(self) -> bool:
        return self.final or self.round >= self.planned
