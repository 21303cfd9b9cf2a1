"""A cluster of processes on this machine: one per task, fresh, and all of them gone when it is closed."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_tfperf.cluster import ports
from pytest_tfperf.cluster.base import DEFAULT_RUN_TIMEOUT, ClusterEvent, EventKind, OnEvent, Results, TaskFunction
from pytest_tfperf.cluster.faults import Fault, certain, fault_error, first_cause, timeout_error
from pytest_tfperf.cluster.messages import (
    AwaitsRelease,
    ExchangeArrived,
    ExchangeDone,
    PhaseChanged,
    Released,
    RunFunction,
    TaskFinished,
    TaskRaised,
)
from pytest_tfperf.cluster.process import describe_exit
from pytest_tfperf.cluster.rendezvous import Rendezvous
from pytest_tfperf.cluster.serialize import dumps
from pytest_tfperf.cluster.task_group import Exited, TaskGroup, TaskProcess
from pytest_tfperf.errors import ClusterStartError, TaskFailedError, UsageError
from pytest_tfperf.records.task import TaskId, TaskPlacement

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

BLAME_GRACE = 0.5
"""Seconds to wait for the cause after a fault that may be only another one's effect."""
MAX_PORT_ATTEMPTS = 5
"""Starts of a cluster, each with new ports, before a taken port is an error."""


class PortClashError(Exception):
    """A task's port was taken; its text says which."""


class MultiProcessCluster:
    """Tasks that run functions together, each in a process of its own. Made by `ClusterLauncher.start`."""

    def __init__(
        self,
        launch: Callable[[], TaskGroup],
        placements: Sequence[TaskPlacement],
        *,
        number: int,
        on_event: OnEvent | None = None,
        keep_logs: bool = False,
    ) -> None:
        """`launch` starts the processes on fresh ports and gives them back ready. It may raise PortClashError."""
        self._launch = launch
        self._placements = tuple(placements)
        self._number = number
        self._on_event = on_event
        self._keep_logs = keep_logs
        self._attempts = 0
        self._has_run = False
        self._group = self._start()

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        return tuple(placement.id for placement in self._placements)

    @property
    def placements(self) -> tuple[TaskPlacement, ...]:
        return self._placements

    @property
    def addresses(self) -> Mapping[str, Sequence[str]]:
        """Job name to ``host:port`` addresses. They can change in the first `run`, where a port turns out taken."""
        return self._group.addresses

    @property
    def pids(self) -> dict[TaskId, int]:
        """Process id of each living task."""
        return self._group.pids()

    @property
    def closed(self) -> bool:
        return self._group.closed

    def log_tail(self, task: TaskId | str) -> str:
        """The last lines that a task has printed; empty once the cluster is closed."""
        return self._group.log_tail(self._id(task))

    def run(
        self,
        function: TaskFunction[T],
        *args: object,
        timeout: float | None = None,
        tasks: Sequence[TaskId | str] | None = None,
    ) -> Results[T]:
        """Call ``function(task, *args)`` in every task at once (or in `tasks`) and give every result.

        `timeout` is in seconds; None means 600. Raises TaskFailedError where a task raises or its result cannot be
        pickled, TaskDiedError where its process ends, ClusterTimeoutError where it is late, UsageError where the
        function cannot be sent. After an error every process is gone and the cluster is closed.

        Where TensorFlow finds a port taken in the first run, the whole cluster is started again on new ports and
        the function with it.
        """
        if self.closed:
            raise UsageError("This cluster is closed; start another one.")
        chosen = self.tasks if tasks is None else tuple(dict.fromkeys(self._id(task) for task in tasks))
        seconds = DEFAULT_RUN_TIMEOUT if timeout is None else timeout
        payload = dumps((function, args))
        try:
            while True:
                try:
                    run = _Run(self._group, chosen, self._event)
                    values = run.complete(payload, seconds)
                    break
                except PortClashError as clash:
                    self._group.close(hard=True, keep_logs=self._keep_logs)
                    if self._has_run:
                        raise ClusterStartError(f"{clash} The cluster had run before and cannot start again.") from None
                    self._group = self._start(clash)
            self._has_run = True
            return Results({id: cast("T", _loads(id, values[id])) for id in chosen})
        except BaseException:
            self.close(hard=True)
            raise

    def close(self, *, hard: bool = False) -> None:
        """End every process of the cluster, within seconds (`hard`: without asking). Safe to call again."""
        if not self._group.closed:
            self._group.close(hard=hard, keep_logs=self._keep_logs)
            self._event("exit", None, "closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(hard=kind is not None)

    def _start(self, clash: PortClashError | None = None) -> TaskGroup:
        while self._attempts < MAX_PORT_ATTEMPTS:
            self._attempts += 1
            try:
                return self._launch()
            except PortClashError as error:
                clash = error
        raise ClusterStartError(
            f"{clash} So it went {MAX_PORT_ATTEMPTS} times, each with other ports: something on this machine takes "
            "every port at once. See what listens with: ss -ltnp"
        )

    def _id(self, task: TaskId | str) -> TaskId:
        id = TaskId.parse(task) if isinstance(task, str) else task
        if id not in self.tasks:
            raise UsageError(f"{id} is not in this cluster; it has {', '.join(map(str, self.tasks))}.")
        return id

    def _event(self, kind: EventKind, task: TaskId | None, text: str) -> None:
        if self._on_event is not None:
            self._on_event(ClusterEvent(kind, self._number, task, text))


class _Run:
    """One call of `MultiProcessCluster.run`, from the first message to the last."""

    def __init__(
        self, group: TaskGroup, chosen: Sequence[TaskId], event: Callable[[EventKind, TaskId | None, str], None]
    ) -> None:
        self._group = group
        self._chosen = [group.tasks[id] for id in chosen]
        self._event = event
        self._meeting: Rendezvous[bytes] = Rendezvous(chosen)
        self._values: dict[TaskId, bytes] = {}
        self._faults: list[Fault] = []

    def complete(self, payload: bytes, seconds: float) -> dict[TaskId, bytes]:
        deadline = time.monotonic() + seconds
        blame_at: float | None = None
        for task in self._chosen:
            task.finished, task.phase = False, "running"
            task.channel.send(RunFunction(payload))
        while len(self._values) < len(self._chosen):
            until = deadline if blame_at is None else min(blame_at, deadline)
            for task, message in self._group.wait(until):
                self._take(task, message)
            if self._faults:
                if blame_at is None:
                    blame_at = time.monotonic() + BLAME_GRACE
                undecided = len(self._values) + len(self._faults) < len(self._chosen)
                if time.monotonic() >= blame_at or not undecided or any(map(certain, self._faults)):
                    self._blame()
            elif (stuck := self._meeting.stuck()) is not None:
                id, why = stuck
                states = self._group.states(self._meeting.waits(), (id,))
                raise TaskFailedError(f"{id} {why}, in phase {self._group.tasks[id].phase!r}.", states)
            if time.monotonic() >= deadline and len(self._values) < len(self._chosen):
                if self._faults:
                    self._blame()
                self._time_out(seconds)
        return self._values

    def _take(self, task: TaskProcess, message: object) -> None:
        if isinstance(message, PhaseChanged):
            self._event("phase", task.id, message.name)
        elif isinstance(message, TaskFinished):
            task.finished = True
            self._values[task.id] = message.payload
            self._meeting.finish(task.id)
            self._event("finished", task.id, "")
        elif isinstance(message, TaskRaised):
            self._faults.append(Fault(task.id, raised=message))
        elif isinstance(message, Exited):
            self._event("exit", task.id, describe_exit(message.code))
            self._faults.append(Fault(task.id, code=message.code))
        elif isinstance(message, ExchangeArrived):
            values = self._meeting.arrive(task.id, message.name, message.among, message.payload)
            if values is not None:
                for id in values:
                    self._group.tasks[id].channel.send(ExchangeDone(values))
        elif isinstance(message, AwaitsRelease):
            self._meeting.await_release(task.id)
        else:
            raise AssertionError(message)
        for id in self._meeting.take_released():
            self._group.tasks[id].channel.send(Released())

    def _blame(self) -> None:
        fault = first_cause(self._faults)
        task = self._group.tasks[fault.task]
        clashes = [one for one in self._faults if one.raised is not None and ports.is_clash(one.raised.message)]
        if clashes and not certain(fault):
            raise PortClashError(f"{clashes[0].task} could not start its server: its port was taken.")
        notes = self._meeting.waits()
        notes.update({one.task: f"raised {one.raised.type}" for one in self._faults if one.raised is not None})
        raise fault_error(fault, task.phase, self._group.states(notes, (fault.task,)))

    def _time_out(self, seconds: float) -> None:
        late = [task.id for task in self._chosen if task.id not in self._values]
        waits = self._meeting.waits()
        guilty = [id for id in late if id not in waits] or late
        self._group.dump_stacks(guilty)
        phases = {task.id: task.phase for task in self._chosen}
        raise timeout_error(late, waits, phases, seconds, self._group.states(waits, guilty))


class _ResultUnpickler(pickle.Unpickler):
    """Keeps TensorFlow out of pytest's process: a result must not bring it in."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] in ("tensorflow", "keras", "tf_keras"):
            raise pickle.UnpicklingError(f"it holds a {module}.{name}")
        return super().find_class(module, name)


def _loads(id: TaskId, payload: bytes) -> object:
    try:
        return _ResultUnpickler(BytesIO(payload)).load()
    except Exception as error:
        raise TaskFailedError(
            f"{id} gave a result that cannot be unpickled here ({error}). Give back plain values or NumPy arrays, "
            "for instance tensor.numpy()."
        ) from error
