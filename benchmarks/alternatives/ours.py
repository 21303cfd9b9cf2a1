"""The workload as pytest-tfperf measures T(1): its step under the strategy `single`, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.alternatives.timing import Steps
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.task import TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads


class _OnlyTask:
    """A task without a cluster: there is nobody to meet or to wait for."""

    id = TaskId("worker", 0)
    cluster: Mapping[str, Sequence[str]] = {"worker": ("localhost:1",)}
    gpus: tuple[str, ...] = ("0",)

    def phase(self, name: str) -> None:
        pass

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> dict[TaskId, object]:
        return {self.id: value}

    def wait_for_release(self) -> None:
        pass


class _StrategySteps:
    def __init__(self, step: Any) -> None:
        self._step = step

    def run(self, steps: int) -> float:
        for _ in range(steps):
            self._step.run()
        return float(self._step.wait())


def ours(
    options: Mapping[str, object], workload: str, params: Mapping[str, object], device: Device
) -> tuple[Steps, int]:
    """Its steps, and how many parameters they train; `options` are those of the strategy that are set."""
    single = strategies.get("single")
    chosen = strategies.resolve_options(single, options)
    step: Any = single.build(_OnlyTask(), workloads.get(workload), params, chosen, device, 1)
    return _StrategySteps(step), sum(int(weights.size) for weights in step.weights())
