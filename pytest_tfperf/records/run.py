"""What was measured: windows of steps in a task, and the run they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.records.health import HostUse
from pytest_tfperf.records.task import TaskId
from pytest_tfperf.records.traffic import Traffic


@dataclass(frozen=True)
class Window:
    """A timed stretch of steps that ended with a wait for the device; seconds on the machine's monotonic clock."""

    start: float
    end: float
    steps: int

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class TaskRun:
    """What one task measured in one run; a task that trains nothing (a parameter server) has none."""

    task: TaskId
    examples_per_step: int
    """Examples that one step of this task trains on: batch per replica times its replicas."""
    replicas: int
    warmup: tuple[float, ...]
    """Seconds of each warm-up step, the first with tracing and compilation."""
    steady: bool
    """False where the step time had not settled when warm-up ran out of time."""
    windows: tuple[Window, ...]
    steps: int
    """Every step that this task ran, warm-up included."""
    updates: int
    """Updates that the variables received, counted where they are applied."""
    updates_are_global: bool
    """True where `updates` counts every worker's (a parameter server), False where it counts this task's."""
    losses: tuple[float, ...]
    """Loss at the end of each window."""
    synchronous: bool
    """True where the replicas wait for each other every step."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Soft environment facts that only the task sees, for instance the cuDNN it was built for."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds spent in each phase before the timed windows, as `measurement.phases` has them."""
    updates_per_step: int = 1
    """Updates that a step of this task applies; above 1 where one task drives the steps of several workers."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the step is made of: where variables lie, their bytes, what a step moves."""
    own_step_time: float | None = None
    """Seconds that this task needs for its own part of a step, waiting for no other; None where that has no meaning.

    Where replicas wait for each other all show the same step time, and only this tells them apart.
    """
    host: HostUse | None = None
    """What the machine did in the timed windows, as far as this task looked."""
    cost: ModelCost | None = None
    """What an example takes by the model's definition; None where the workload does not say."""


@dataclass(frozen=True)
class Run:
    """One measurement of an arm in fresh processes: the replicate of all statistics."""

    arm: Arm
    round: int
    throughput: float
    """Examples per second of the whole job."""
    step_time: float
    """Seconds a replica needs for a step: batch per replica x replicas / throughput."""
    tasks: tuple[TaskRun, ...]
    traffic: Traffic | None = None
    """What crossed the hosts' links, sampled over the whole run; None without links."""
    hosts: Mapping[str, int] = field(default_factory=dict)
    """Which host each task was on, parameter servers included, by the task's name."""
    warnings: tuple[str, ...] = ()
    disturbances: tuple[str, ...] = ()
    """What disturbed it, as sentences; none where it was undisturbed."""
    outside: bool = False
    """Whether all of that came from outside: what is run has nothing to do with it."""
    attempts: int = 1
    """Runs that were made to get this one; those before it were disturbed."""
    discarded: tuple[tuple[str, ...], ...] = ()
    """What disturbed each of the runs before it."""
    seconds: float = 0.0
    """What it took, the runs that were left out with it: from asking for processes until all of them were gone."""
    gpu_notes: Mapping[str, str] = field(default_factory=dict)
    """By task, what its GPU's health says of its pace; tasks of which nothing is known are not in it."""
    logs: Mapping[str, str] = field(default_factory=dict)
    """By task, the last lines that it printed; those of an arm's last run are kept, and of no earlier one."""

    @property
    def start(self) -> float:
        """When the last of the tasks began its timed windows; monotonic seconds."""
        return max(task.windows[0].start for task in self.tasks)

    @property
    def end(self) -> float:
        """When the first of the tasks ended its timed windows; monotonic seconds."""
        return min(task.windows[-1].end for task in self.tasks)


@dataclass(frozen=True)
class ArmResult:
    """The runs of one arm in the order of the rounds."""

    arm: Arm
    runs: tuple[Run, ...]
    error: Exception | None = None
    """Why the arm has no (more) runs: a cluster fault or a measurement that cannot be used."""

    @property
    def step_times(self) -> tuple[float, ...]:
        return tuple(run.step_time for run in self.runs)
