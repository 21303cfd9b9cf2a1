"""What a strategy is: how a workload's step is built and spread over tasks and devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.workloads.base import WorkloadDefinition


class Step(Protocol):
    """A training step of one task, ready to run."""

    @property
    def examples_per_step(self) -> int:
        """Examples that one step of this task trains on, over all its replicas."""
        ...

    @property
    def replicas(self) -> int:
        """Model copies that this task's steps train."""
        ...

    @property
    def updates_per_step(self) -> int:
        """Updates that one step of this task applies: 1, but for a task whose step drives several workers."""
        ...

    @property
    def steps_per_call(self) -> int:
        """Training steps that one `run` makes: 1, but where several are put into one function call."""
        ...

    def trace(self) -> bool:
        """Turn the step from Python into graphs, running nothing; False where only its first run can do that."""
        ...

    def run(self, times: int = 1) -> None:
        """So many times start one step, or `steps_per_call` of them; may come back before the device is done.

        All from one call, with nothing around a step: after one that has filled the processor's caches even the call of
        a method costs microseconds, as everything that it touches comes from memory again.
        """
        ...

    def wait(self) -> float:
        """Wait until the device has done every step started so far; give the last step's loss."""
        ...

    def updates(self) -> int:
        """Updates applied to the variables since the start, read from where they are applied."""
        ...

    def alone(self) -> Callable[[], None] | None:
        """A function that does this task's own part of a step and waits for its device; it may be slow the first time.

        It computes the gradients of a batch, sends and updates nothing, and needs no other task. None where the step
        has no such part. For after the measurement: it goes on in the input, and moving averages may move.
        """
        ...

    def weights(self) -> list[Any]:
        """Values of the trainable variables as arrays, in the model's order; where they are slices of larger ones,
        of those. For checks, not for the timed part.
        """
        ...

    def facts(self) -> Mapping[str, str]:
        """What it is made of, read from graph and variables: where they lie, their bytes, what a step moves."""
        ...

    def close(self) -> None:
        """Let go of sessions and servers; called when every task has finished."""
        ...


class Strategy(Protocol):
    """How a workload is distributed. Everything but `build` works without TensorFlow."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Mapping[str, Scalar]:
        """Options that a marker may set, with their defaults."""
        ...

    @property
    def synchronous(self) -> bool:
        """True where replicas wait for each other every step, so that all must run the same number of steps."""
        ...

    @property
    def updates_are_global(self) -> bool:
        """True where `Step.updates` counts the updates of all workers, not of the asking task."""
        ...

    @property
    def measured_job(self) -> str:
        """The job whose tasks run steps and are measured, ``worker`` or ``chief``; all others only serve."""
        ...

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        """The tasks needed; raises UsageError where `replicas` or an option cannot be had."""
        ...

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> Step | None:
        """Inside a task: build its step. A task that trains nothing serves until released and gives None.

        `replicas` counts the model copies of the whole job, as for `layout`.
        """
        ...


@runtime_checkable
class DeviceBound(Protocol):
    """A strategy some of whose options cannot be had on every device. Works without TensorFlow, as `layout` does."""

    def check_device(self, options: Mapping[str, Scalar], device: Device, *, xla: bool) -> None:
        """Raises UsageError where an option cannot be had there, or not with a step that is compiled or is not."""
        ...
