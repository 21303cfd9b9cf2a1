"""The other side of a comparison of two commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_tfperf.records.arm import Arm, Scalar


@dataclass(frozen=True)
class Revision:
    """A commit, and what the user called it."""

    name: str
    """As given: ``main``, ``HEAD~1``, or part of the commit's own name."""
    commit: str
    """Full name of the commit."""

    def __str__(self) -> str:
        short = self.commit[:7]
        return short if self.commit.startswith(self.name) else f"{self.name} ({short})"


@dataclass(frozen=True)
class Opponent:
    """The same test at another revision: what a sweep is held against, arm by arm."""

    revision: Revision
    missing: str = ""
    """Why the other side does not measure the test at all; empty where it does."""
    definition: Mapping[str, Scalar] = field(default_factory=dict)
    """What it measures, as `SweepResult.held_definition` says it."""
    replicas: tuple[int, ...] = ()
    """Replica counts that its marker has."""
    soft: Mapping[str, str] = field(default_factory=dict)
    """Soft keys of its environment: versions, variables, commit."""
    facts: Mapping[Arm, tuple[str, ...]] = field(default_factory=dict)
    """What the arms' steps are made of there, a line each."""
