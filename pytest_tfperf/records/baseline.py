"""Stored measurements of one arm, with the reference it was paired with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.environment import Environment


@dataclass(frozen=True)
class Provenance:
    """Where a stored measurement comes from."""

    date: str
    """UTC, ISO 8601 to the second, for instance ``2026-11-27T22:36:48Z``."""
    commit: str
    """Git commit of the measured checkout; empty outside a repository."""
    dirty: bool
    """Whether the checkout had uncommitted changes."""
    test: str
    """Node id of the test that was measured."""
    forced: str = ""
    """Why saving it was refused, where it was saved by force all the same; empty otherwise, and in older files."""

    @property
    def sweep(self) -> str:
        """The test without its replica count, which every node id ends with: the `test` of its `SweepSpec`."""
        return self.test.rpartition("[")[0]


@dataclass(frozen=True)
class BaselineSession:
    """What one saving session measured: a value per round, all four in the same order; examples/s of the job, seconds.

    The values of two sessions differ by more than the rounds within one do: days differ too.
    """

    provenance: Provenance
    """Where it comes from."""
    soft: Mapping[str, str]
    """The environment's soft keys, as they were then."""
    reference_throughput: tuple[float, ...]
    """T(1), examples/s."""
    reference_step_time: tuple[float, ...]
    """Seconds."""
    throughput: tuple[float, ...]
    """T(N), examples/s of the whole job."""
    step_time: tuple[float, ...]
    """Seconds."""
    run_seconds: tuple[float, float] | None = None
    """What a whole run took, of the reference and of the arm: how long a gate will take. None in older files. Of the
    runs after the first where `first_run_seconds` is there, else of all.
    """
    window_seconds: float | None = None
    """Length that the timed windows of those runs were asked to have. None in older files."""
    first_run_seconds: tuple[float, float] | None = None
    """What the first run took, which compiles what later ones use again. None in older files."""


@dataclass(frozen=True)
class BaselineEntry:
    """What is stored of one arm and its reference: the sessions that measured them, and what they measured."""

    workload: str
    """Name of the workload."""
    strategy: str
    """Name of the strategy."""
    variant: str | None
    """Name that the test gave it; None without one."""
    replicas: int
    """N of T(N)."""
    definition: Mapping[str, Scalar]
    """What was measured: batch, precision, options and so on."""
    hard: Mapping[str, str | int]
    """The environment's hard keys."""
    sessions: tuple[BaselineSession, ...]
    """Oldest first, never empty."""
    floor: float | None = None
    """Hand-set floor of E(N) in this environment; wins over the test's `min_efficiency`."""
    tolerance: float | None = None
    """Hand-set tolerance in this environment; wins over the test's."""

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.workload, self.strategy, self.variant) if part)

    @property
    def is_own_reference(self) -> bool:
        """Whether T(N) is T(1), so that E(N) is 1 and says nothing."""
        return self.replicas == 1 and all(each.throughput == each.reference_throughput for each in self.sessions)

    @property
    def latest(self) -> BaselineSession:
        return self.sessions[-1]

    @property
    def environment(self) -> Environment:
        """What it was measured on, with the soft keys of the latest session."""
        return Environment(self.hard, self.latest.soft)

    @property
    def provenance(self) -> Provenance:
        """Where the latest session comes from."""
        return self.latest.provenance
