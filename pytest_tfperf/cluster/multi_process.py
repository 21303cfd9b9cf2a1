"""A cluster of processes on this machine: one per task, fresh, and all of them gone when it is closed."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_tfperf.cluster.base import (
    DEFAULT_RUN_TIMEOUT,
    ClusterEvent,
    EventKind,
    OnEvent,
    Results,
    TaskFunction,
    one_of,
)
from pytest_tfperf.cluster.network import DEFAULT_INTERVAL, Network
from pytest_tfperf.cluster.ports import PortClashError
from pytest_tfperf.cluster.run import Run
from pytest_tfperf.cluster.serialize import dumps
from pytest_tfperf.cluster.task_group import TaskGroup
from pytest_tfperf.errors import ClusterStartError, TaskFailedError, UsageError
from pytest_tfperf.records.task import TaskId, TaskPlacement
from pytest_tfperf.records.traffic import Traffic

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

MAX_PORT_ATTEMPTS = 5
"""Starts of a cluster, each with new ports, before a taken port is an error."""


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
        return self._group.log_tail(one_of(self.tasks, task))

    def start_sampling(self, interval: float = DEFAULT_INTERVAL) -> None:
        """Forget what `traffic` has counted and count anew, with a sample every `interval` seconds.

        Raises UsageError where the cluster has no link.
        """
        self._network().sample(interval)

    def stop_sampling(self) -> Traffic:
        """What `traffic` gives; no more samples are taken by themselves."""
        traffic = self.traffic()
        self._network().sample(None)
        return traffic

    def traffic(self) -> Traffic:
        """What crossed each host's link since `start_sampling`, or since the cluster's start, up to this moment.

        Raises UsageError where the cluster has no link.
        """
        return self._network().traffic()

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
        self._group.check_owner()
        chosen = self.tasks if tasks is None else tuple(dict.fromkeys(one_of(self.tasks, task) for task in tasks))
        seconds = DEFAULT_RUN_TIMEOUT if timeout is None else timeout
        payload = dumps((function, args))
        try:
            while True:
                try:
                    run = Run(self._group, chosen, self._event)
                    values = run.complete(payload, seconds)
                    break
                except PortClashError as clash:
                    self._group.close(hard=True, keep_logs=self._keep_logs)
                    if self._has_run:
                        raise ClusterStartError(f"{clash} The cluster had run before and cannot start again.") from None
                    self._group = self._start(clash)
            self._has_run = True
            return Results({id: cast("T", self._loads(id, values[id])) for id in chosen})
        except BaseException:
            self.close(hard=True)
            raise

    def close(self, *, hard: bool = False) -> None:
        """End every process of the cluster, within seconds (`hard`: without asking). Safe to call again.

        Unless it is `hard`, raises TaskDiedError where a task ended by itself since it gave its last result.
        """
        if not self._group.closed:
            try:
                self._group.close(hard=hard, keep_logs=self._keep_logs)
            finally:
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

    def _loads(self, id: TaskId, payload: bytes) -> object:
        try:
            return _ResultUnpickler(BytesIO(payload)).load()
        except Exception as error:
            raise TaskFailedError(
                f"{id} gave a result that cannot be unpickled here ({error}). Give back plain values or NumPy arrays, "
                "for instance tensor.numpy().",
                self._group.states({}, (id,)),
            ) from error

    def _network(self) -> Network:
        if self.closed:
            raise UsageError("This cluster is closed: read its traffic before.")
        if self._group.network is None:
            raise UsageError("This cluster's hosts have no links: start it with link=Link.parse('1gbit').")
        return self._group.network

    def _event(self, kind: EventKind, task: TaskId | None, text: str) -> None:
        if self._on_event is not None:
            self._on_event(ClusterEvent(kind, self._number, task, text))


class _ResultUnpickler(pickle.Unpickler):
    """Keeps TensorFlow out of pytest's process: a result must not bring it in."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] in ("tensorflow", "keras", "tf_keras"):
            raise pickle.UnpicklingError(f"it holds a {module}.{name}")
        return super().find_class(module, name)
