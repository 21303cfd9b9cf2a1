"""What a session measured, sweep by sweep: the part of its report that verdicts can be made of anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_tfperf.records.arm import Role, Scalar


@dataclass(frozen=True)
class Task:
    """What one task measured in one run."""

    task: str
    """``worker:0``."""
    host: int
    """Which of the cluster's hosts it ran on, from 0: network namespaces of one machine where links are shaped."""
    replicas: int
    """Copies of the model that it trains."""
    examples_per_step: int
    """All its replicas' together."""
    windows: tuple[tuple[float, float, int], ...]
    """Start and end, monotonic seconds, and steps of each timed window."""
    own_step_time: float | None
    """Seconds of its own part of a step, waiting for no other."""
    warmup: tuple[float, ...]
    """Seconds of each warm-up step."""
    losses: tuple[float | None, ...]
    """At the end of each window; None where it was not finite."""
    phases: Mapping[str, float]
    """Seconds of each phase of its start."""
    facts: Mapping[str, str]
    """What else it told of its step, by name: where variables lie, bytes, links."""

    @property
    def step_times(self) -> tuple[float, ...]:
        """Seconds a step, one value for each window."""
        return tuple((end - start) / steps for start, end, steps in self.windows)


@dataclass(frozen=True)
class MeasuredRun:
    """One run of an arm in fresh processes."""

    round: int
    """From 1."""
    throughput: float
    """Examples/s of the whole job."""
    step_time: float
    """Seconds that a replica needs for a step."""
    seconds: float
    """What all of it took, start-up included."""
    attempts: int
    """Runs that were made to get this one; those before it were disturbed."""
    disturbances: tuple[str, ...]
    """What disturbed it and could not be avoided by making it again, in words."""
    warnings: tuple[str, ...]
    """What is odd about it, in words."""
    tasks: tuple[Task, ...]
    """The tasks that train; empty for a run of another revision, which tells its speed alone."""
    outside: bool = False
    """Whether all that disturbed it came from outside, such as other programs. False in older reports."""


@dataclass(frozen=True)
class MeasuredArm:
    """All runs of one arm of a sweep."""

    label: str
    """``T(1)`` for the reference, ``T(4)``, ``T(4) ps_async`` for what T(4) is held against."""
    role: Role
    """`reference` is T(1), `measured` an arm of the test, `versus` what one is held against."""
    strategy: str
    """Its own: that of a reference is mostly `single`."""
    replicas: int
    """Its own: 1 for the reference."""
    runs: tuple[MeasuredRun, ...]
    """One for each round that could be measured."""
    against: tuple[MeasuredRun, ...] = ()
    """The same at the other revision, in the same rounds."""
    error: str = ""
    """Why there are no more runs; empty where nothing went wrong."""
    logs: Mapping[str, str] = field(default_factory=dict)
    """The last lines that each task of the last run printed."""
    slowdown: float = 0.0
    """Fraction by which its steps were made longer on purpose, by the marker. 0 in older reports."""


@dataclass(frozen=True)
class MeasuredSweep:
    """The arms that one test compares, measured in the same rounds."""

    test: str
    """Node id without the replica count."""
    workload: str
    """Name of the workload."""
    strategy: str
    """Name of the strategy that is measured."""
    variant: str | None
    """Name that the test gives its baseline; null without one."""
    device: Literal["cpu", "gpu"]
    """What its replicas ran on."""
    definition: Mapping[str, Scalar]
    """What a baseline must have measured too to be comparable: batch, precision, options and so on."""
    rounds: int
    """Whole rounds that were measured."""
    seconds: float
    """What measuring it took."""
    arms: tuple[MeasuredArm, ...]
    """The reference first."""

    @property
    def reference(self) -> MeasuredArm | None:
        """T(1); None in a damaged report alone."""
        return next((arm for arm in self.arms if arm.role == "reference"), None)

    def arm(self, role: Role, replicas: int) -> MeasuredArm | None:
        """The arm of a replica count; None where there is none of its own, as the reference serves."""
        return next((arm for arm in self.arms if arm.role == role and arm.replicas == replicas), None)
