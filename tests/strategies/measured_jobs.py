"""What the spawned processes do to measure a small problem, one of them late."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.measurement.loop import Loop
from pytest_tfperf.records.run import TaskRun, Window
from pytest_tfperf.records.task import Task, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads
from tests.strategies import jobs
from tests.strategies.small_workloads import linear_sgd

ALONE = 2
"""Windows that worker 0 times before the late worker begins its first."""


def _linear(strategy: str, replicas: int, policy: MeasurementPolicy, **options: object) -> Job:
    definition, chosen = workloads.get(linear_sgd), strategies.get(strategy)
    params = workloads.resolve_params(definition, {})
    return Job(definition, params, strategy, strategies.resolve_options(chosen, options), "cpu", replicas, policy)


def train_and_measure(
    task: Task,
    strategy: str,
    replicas: int,
    runs: dict[str, dict[str, Any]],
    policy: MeasurementPolicy,
    options: dict[str, object],
) -> tuple[dict[str, Any], TaskRun | None]:
    """Several trainings, and `linear_sgd` measured as a run of a sweep is, in one process."""
    os.environ["TEST_RANK"] = str(task.id.index)
    return jobs.train_each(task, runs=runs), measure(task, _linear(strategy, replicas, policy, **options))


class _Late:
    """A task whose worker 1 comes `seconds` late, and begins its timed windows when worker 0 has timed some alone."""

    def __init__(self, task: Task, seconds: float, workers: Sequence[TaskId]) -> None:
        self._task = task
        self._workers = workers
        self.late = task.id == workers[1]
        self.arrived = 0.0
        if self.late:
            time.sleep(seconds)
            self.arrived = time.monotonic()
        self.timing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> Any:
        values = self._task.exchange(name, value, among)
        if name == "timed windows":
            self.timing = True
            if self.late:
                self.meet()
        return values

    def meet(self) -> None:
        self._task.exchange("worker 0 was alone", None, self._workers)


def measure_late(
    task: Task, strategy: str, workers: int, seconds: float, policy: MeasurementPolicy
) -> tuple[float, TaskRun] | None:
    """Measure it with worker 1 late; gives when that one came, in monotonic seconds, and what was measured."""
    os.environ["TEST_RANK"] = str(task.id.index)
    late = _Late(task, seconds, [TaskId("worker", index) for index in range(workers)])
    if task.id == TaskId("worker", 0):
        timed, window = [], Loop.window

        def counted(self: Loop, steps: int) -> Window:
            result = window(self, steps)
            if late.timing:
                timed.append(result)
                if len(timed) == ALONE:
                    late.meet()
            return result

        Loop.window = counted  # type: ignore[method-assign]
    run = measure(late, _linear(strategy, workers, policy))
    return None if run is None else (late.arrived, run)
