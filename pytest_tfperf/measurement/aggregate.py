"""What the tasks of a run measured adds up to: the job's throughput. Refuses what is no measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from pytest_tfperf.errors import MeasurementError
from pytest_tfperf.measurement.windows import rate_between
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.run import Run, TaskRun


def aggregate(arm: Arm, round_number: int, tasks: Sequence[TaskRun]) -> Run:
    """Make one run of what its training tasks measured.

    Throughput counts the whole job's examples in the time in which every worker was in its timed windows, never
    one worker's, and never the stretch in which some had not begun or had stopped. Where a few of the timed windows are
    outliers it is that of the median window, and a warning says so.

    Raises:
        MeasurementError: a loss is not finite, updates are missing or too many, replicas are not as many as the
            arm says, or the workers' timed windows do not overlap.
    """
    where = f"{arm.workload} under {arm.strategy}, {arm.label}, round {round_number}"
    if not tasks:
        raise MeasurementError(f"{where}: no task trained anything")
    _check_replicas(where, arm, tasks)
    _check_losses(where, tasks)
    _check_updates(where, tasks)
    run = Run(arm, round_number, 0.0, 0.0, tuple(tasks))
    start, end = run.start, run.end
    if end <= start:
        late = max(tasks, key=lambda task: task.windows[0].start)
        raise MeasurementError(
            f"{where}: {late.task} began its timed windows when another worker had already ended; "
            "no time was measured in which all were running"
        )
    rate = rate_between(tasks, start, end)
    per_replica = tasks[0].examples_per_step / tasks[0].replicas
    warnings = tuple(
        f"{task.task}: step time had not settled after {len(task.warmup)} warm-up steps"
        for task in tasks
        if not task.steady
    )
    if rate.outliers:
        warnings += (f"round {round_number}: {rate.outliers}",)
    step_time = arm.replicas * per_replica / rate.value
    return replace(run, throughput=rate.value, step_time=step_time, warnings=warnings)


def _check_replicas(where: str, arm: Arm, tasks: Sequence[TaskRun]) -> None:
    found = sum(task.replicas for task in tasks)
    if found != arm.replicas:
        raise MeasurementError(f"{where}: {found} replicas trained, the arm asks for {arm.replicas}")


def _check_losses(where: str, tasks: Sequence[TaskRun]) -> None:
    for task in tasks:
        for number, loss in enumerate(task.losses):
            if not isfinite(loss):
                raise MeasurementError(
                    f"{where}: the loss of {task.task} is {loss} after window {number + 1} of {len(task.losses)}; "
                    "the speed of a diverged training means nothing (lower the learning rate, check the loss scale)"
                )


def _check_updates(where: str, tasks: Sequence[TaskRun]) -> None:
    all_updates = sum(task.steps * task.updates_per_step for task in tasks)
    for task in tasks:
        expected = all_updates if task.updates_are_global else task.steps * task.updates_per_step
        if task.updates != expected:
            whose = "all workers'" if task.updates_are_global else "its"
            raise MeasurementError(
                f"{where}: {task.task} sees {task.updates} applied updates where {whose} steps make {expected}; "
                "steps that update nothing, or update twice, are no training steps"
            )
