"""What a task does in a run: build the step, warm up, time it, and give back a `TaskRun`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.clock import Clock, MonotonicClock
from pytest_tfperf.measurement.health import HostWatch
from pytest_tfperf.measurement.loop import Loop, in_steps
from pytest_tfperf.measurement.pace import measure_pace, pace_of_windows
from pytest_tfperf.measurement.phases import Phases, TaskInPhases
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.health import HostScope
from pytest_tfperf.records.run import TaskRun, Window
from pytest_tfperf.records.task import Task, TaskId
from pytest_tfperf.strategies import registry
from pytest_tfperf.strategies.base import Step
from pytest_tfperf.workloads.base import WorkloadDefinition

COMPILING = frozenset({"tracing", "first step", "warm-up"})
"""What a task says it does when XLA may be compiling in it."""


@dataclass(frozen=True)
class Job:
    """Everything a task must know to measure its part of an arm."""

    workload: WorkloadDefinition
    params: Mapping[str, object]
    strategy: str
    options: Mapping[str, Scalar]
    device: Device
    replicas: int
    """Model copies of the whole job."""
    policy: MeasurementPolicy
    slowdown: float = 0.0
    """Fraction by which every step takes longer."""
    scope: HostScope | None = None
    """What of the machine concerns the run; None: no looks at the host."""
    asked: float | None = None
    """When the run's processes were asked for, on the machine's monotonic clock; None: not known."""


def measure(task: Task, job: Job) -> TaskRun | None:
    """Run inside a task; gives None for a task that trains nothing."""
    clock = MonotonicClock()
    phases = Phases(clock, job.asked)
    strategy = registry.get(job.strategy)
    task.phase("build")
    step = strategy.build(
        cast("Task", TaskInPhases(task, phases)), job.workload, job.params, job.options, job.device, job.replicas
    )
    if step is None:
        return None
    try:
        return _measure_step(task, job, step, clock, phases)
    finally:
        step.close()


def _measure_step(task: Task, job: Job, step: Step, clock: Clock, phases: Phases) -> TaskRun:
    strategy = registry.get(job.strategy)
    peers = _measured_tasks(task, strategy.measured_job)
    # One look serves all: they are on one machine.
    watch = HostWatch(job.scope if task.id == peers[0] else None)

    def agree(point: str, value: float) -> list[float]:
        if point == "timed windows":
            watch.begin()  # before the others are let go
        if len(peers) == 1:
            return [value]
        return [cast("float", answer) for answer in task.exchange(point, value, peers).values()]

    task.phase("tracing")
    phases.begin("trace")
    # Where the two cannot be told apart the first step does both.
    compiling = "compile" if step.trace() else "trace and compile"
    phases.end()
    measured = Loop(step, clock, job.policy, agree, job.slowdown, enter=task.phase).measure(strategy.synchronous)
    host = watch.end()
    result = in_steps(measured, step.steps_per_call)
    task.phase("count updates")
    # Nobody's steps may be in flight when updates are counted, nor may anybody leave while others still count.
    if len(peers) > 1:
        task.exchange("all steps done", None, peers)
    updates = step.updates()
    if len(peers) > 1:
        task.exchange("updates counted", None, peers)
    facts = step.facts()
    own_step_time = _own_step_time(task, step, strategy.synchronous, result.windows, clock, peers)
    return TaskRun(
        task=task.id,
        examples_per_step=step.examples_per_step,
        replicas=step.replicas,
        warmup=result.warmup,
        steady=result.steady,
        windows=result.windows,
        steps=result.steps,
        updates=updates,
        updates_are_global=strategy.updates_are_global,
        losses=result.losses,
        synchronous=strategy.synchronous,
        versions=_versions(),
        phases=phases.complete(compiling, measured.warmup[0], measured.windows[0].start),
        updates_per_step=step.updates_per_step,
        facts=facts,
        own_step_time=own_step_time,
        host=host,
        cost=job.workload.cost_of(job.params),
    )


def _own_step_time(
    task: Task, step: Step, synchronous: bool, windows: Sequence[Window], clock: Clock, peers: Sequence[TaskId]
) -> float | None:
    """Seconds of this task's own part of a step; None where it has no peer to be held against, or no such part."""
    if len(peers) == 1:
        return None
    if not synchronous:  # nobody waits: the windows are its own
        return pace_of_windows(windows)
    alone = step.alone()
    if alone is None:
        return None
    task.phase("own pace")

    def agree(point: str, value: float) -> list[float]:
        return [cast("float", answer) for answer in task.exchange(point, value, peers).values()]

    return measure_pace(alone, clock, agree)


def _measured_tasks(task: Task, job: str) -> Sequence[TaskId]:
    """The tasks that run steps, in an order that all of them agree on."""
    return [TaskId(job, index) for index in range(len(task.cluster[job]))]


def _versions() -> Mapping[str, str]:
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    known = {"cuda": build.get("cuda_version"), "cudnn": build.get("cudnn_version")}
    return {"tensorflow": tf.__version__, **{f"built for {key}": value for key, value in known.items() if value}}
