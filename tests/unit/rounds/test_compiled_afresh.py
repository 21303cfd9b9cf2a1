"""A run that fails as it compiles is made once more without what was compiled before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import ClusterError, ClusterTimeoutError, TaskDiedError, TaskFailedError, TaskState
from pytest_tfperf.records.arm import Arm, Recipe, SweepSpec
from pytest_tfperf.records.health import HostScope
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.task import TaskPlacement
from pytest_tfperf.runs import RunMeasurer
from pytest_tfperf.workloads.base import WorkloadDefinition
from tests.unit.fakes import Lines

SPEC = SweepSpec("t.py::t", "mlp", Recipe("single"), Recipe("single"), (1,), "cpu")
WORKLOAD = WorkloadDefinition("mlp", lambda: None, {})


def fault(kind: type[ClusterError], phase: str, *, within_tensorflow: bool = True) -> ClusterError:
    error = kind("worker:0 raised", (TaskState("worker:0", "raised", phase),))
    error.within_tensorflow = within_tensorflow
    return error


class Failing(RunMeasurer):
    """Fails as scripted, one fault an attempt; notes which attempts could use compiled programs."""

    def __init__(self, *faults: ClusterError, compile_cache: bool = True) -> None:
        self.progress = Lines()
        config = PerfConfig(root=Path(), baselines=Path(), compile_cache=compile_cache)
        super().__init__(config, ClusterLauncher(), self.progress)
        self.faults = list(faults)
        self.reused: list[bool] = []

    def _on_cluster(
        self,
        spec: SweepSpec,
        arm: Arm,
        workload: WorkloadDefinition,
        number: int,
        tasks: Sequence[TaskPlacement],
        scope: HostScope,
    ) -> Run:
        self.reused.append(self._reuses)
        if self.faults:
            raise self.faults.pop(0)
        return Run(arm, number, 1.0, 1.0, ())

    def one(self) -> Run:
        return self._compiled(SPEC, SPEC.reference_arm, WORKLOAD, 1, (), HostScope(1, (), pinned=False))


@pytest.mark.parametrize("kind", [TaskFailedError, TaskDiedError])
def test_what_works_without_goes_on_without(kind: type[ClusterError]) -> None:
    measurer = Failing(fault(kind, "first step"))
    measurer.one()
    measurer.one()
    assert measurer.reused == [True, False, False]
    assert "--no-tfperf-compile-cache" in measurer.progress.lines[0]
    assert "worker:0 raised" in measurer.progress.lines[0]


def test_what_fails_either_way_is_told_as_it_failed_without() -> None:
    first, second = fault(TaskFailedError, "first step"), fault(TaskFailedError, "first step")
    measurer = Failing(first, second)
    with pytest.raises(TaskFailedError) as raised:
        measurer.one()
    assert raised.value is second
    measurer.one()
    assert measurer.reused == [True, False, True]  # so it was not the compiled programs
    assert measurer.progress.lines == []


@pytest.mark.parametrize(
    ("error", "compile_cache"),
    [
        (fault(TaskFailedError, "building"), True),
        (fault(ClusterTimeoutError, "first step"), True),
        (fault(TaskFailedError, "first step"), False),
        # Nothing that was compiled kills a task, or raises the user's own error.
        (fault(TaskDiedError, "warm-up", within_tensorflow=False), True),
        (fault(TaskFailedError, "first step", within_tensorflow=False), True),
    ],
)
def test_other_faults_are_no_reason_to_try_again(error: ClusterError, compile_cache: bool) -> None:
    measurer = Failing(error, compile_cache=compile_cache)
    with pytest.raises(type(error)):
        measurer.one()
    assert len(measurer.reused) == 1
