"""A cluster of threads of this process: they run and fail as processes do, but cannot be ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_tfperf.cluster.base import DEFAULT_RUN_TIMEOUT, Results, TaskFunction, one_of
from pytest_tfperf.cluster.faults import Fault, culprits_of, fault_error, first_cause, shown_below
from pytest_tfperf.cluster.messages import TaskRaised
from pytest_tfperf.cluster.thread_task import InProcessTask, Meeting
from pytest_tfperf.errors import ClusterTimeoutError, TaskFailedError, TaskState, UsageError
from pytest_tfperf.records.task import TaskId, TaskPlacement

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class InProcessCluster:
    """Tasks in threads of this process. Made by `start_in_process`."""

    def __init__(self, tasks: Sequence[InProcessTask], placements: Sequence[TaskPlacement]) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._placements = tuple(placements)
        self._closed = False

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        return tuple(self._tasks)

    @property
    def placements(self) -> tuple[TaskPlacement, ...]:
        return self._placements

    @property
    def addresses(self) -> Mapping[str, Sequence[str]]:
        return next(iter(self._tasks.values())).cluster

    def target(self, task: TaskId | str) -> str:
        """``grpc://host:port`` of a task's server, for a session in the test itself."""
        return self._tasks[one_of(self.tasks, task)].target

    def devices(self, task: TaskId | str) -> tuple[str, ...]:
        """Names of a task's own logical devices."""
        return self._tasks[one_of(self.tasks, task)].devices

    def run(
        self,
        function: TaskFunction[T],
        *args: object,
        timeout: float | None = None,
        tasks: Sequence[TaskId | str] | None = None,
    ) -> Results[T]:
        """Call ``function(task, *args)`` in a thread per task and give every result.

        `timeout` is in seconds; None means 600. Raises TaskFailedError and ClusterTimeoutError, after which the
        cluster is closed; a thread that is late cannot be ended and runs on.
        """
        if self._closed:
            raise UsageError("This cluster is closed; start another one.")
        chosen = self.tasks if tasks is None else tuple(dict.fromkeys(one_of(self.tasks, task) for task in tasks))
        seconds = DEFAULT_RUN_TIMEOUT if timeout is None else timeout
        run = _Run([self._tasks[id] for id in chosen])
        try:
            return Results({id: cast("T", value) for id, value in run.complete(function, args, seconds).items()})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take no more functions. The servers stay: TensorFlow cannot stop them, the next cluster uses them again."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Run:
    def __init__(self, tasks: Sequence[InProcessTask]) -> None:
        self._tasks = tasks
        self._meeting = Meeting([task.id for task in tasks])
        self._values: dict[TaskId, object] = {}
        self._faults: list[tuple[Fault, BaseException]] = []

    def complete(self, function: TaskFunction[Any], args: tuple[object, ...], seconds: float) -> dict[TaskId, object]:
        deadline = time.monotonic() + seconds
        for task in self._tasks:
            task.meeting, task.last_phase = self._meeting, "running"
            name = f"tfperf {task.id}"
            threading.Thread(target=self._call, args=(task, function, args), name=name, daemon=True).start()
        with self._meeting.changed:
            while len(self._values) < len(self._tasks) and not self._faults:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._meeting.changed.wait(left)
            self._meeting.over = len(self._values) < len(self._tasks)
            self._meeting.changed.notify_all()
            if self._faults:
                raise self._failed()
            if self._meeting.over:
                raise self._late(seconds)
        return {task.id: self._values[task.id] for task in self._tasks}

    def _call(self, task: InProcessTask, function: TaskFunction[Any], args: tuple[object, ...]) -> None:
        try:
            value = function(task, *args)
        except BaseException as error:
            message = str(error)
            raised = TaskRaised(type(error).__qualname__, message, shown_below(error, message), None)
            with self._meeting.changed:
                self._faults.append((Fault(task.id, raised=raised), error))
                self._meeting.rendezvous.finish(task.id)
                self._meeting.changed.notify_all()
        else:
            with self._meeting.changed:
                self._values[task.id] = value
                self._meeting.rendezvous.finish(task.id)
                self._meeting.released |= self._meeting.rendezvous.take_released()
                self._meeting.changed.notify_all()

    def _failed(self) -> TaskFailedError:
        fault = first_cause([fault for fault, _ in self._faults])
        phase = next(task.last_phase for task in self._tasks if task.id == fault.task)
        error = cast("TaskFailedError", fault_error(fault, phase, self._states()))
        error.__cause__ = next(cause for one, cause in self._faults if one is fault)
        return error

    def _late(self, seconds: float) -> ClusterTimeoutError:
        late = [task.id for task in self._tasks if task.id not in self._values]
        culprits = culprits_of(late, self._meeting.rendezvous.waits(), {})
        phases = {task.id: task.last_phase for task in self._tasks}
        named = ", ".join(f"{id} (in phase {phases[id]!r})" for id in culprits)
        return ClusterTimeoutError(
            f"{named} not finished within the deadline of {seconds:g} s. Its thread cannot be ended and runs on.",
            self._states(),
        )

    def _states(self) -> tuple[TaskState, ...]:
        waits = self._meeting.rendezvous.waits()
        raised = {fault.task: f"raised {type(error).__qualname__}" for fault, error in self._faults}
        return tuple(
            TaskState(
                str(task.id),
                "finished" if task.id in self._values else raised.get(task.id) or waits.get(task.id, "running"),
                task.last_phase,
            )
            for task in self._tasks
        )
