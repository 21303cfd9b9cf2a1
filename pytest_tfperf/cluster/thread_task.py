"""A task within this process, as a function gets it, and how the tasks of a run meet."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pytest_tfperf.cluster.rendezvous import Rendezvous
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import TaskId, TaskPlacement


class Meeting:
    """The rendezvous of one run, shared by its threads."""

    def __init__(self, tasks: Sequence[TaskId]) -> None:
        self.changed = threading.Condition()
        self.rendezvous: Rendezvous[object] = Rendezvous(tasks)
        self.exchanged: dict[TaskId, dict[TaskId, object]] = {}
        self.released: set[TaskId] = set()
        self.over = False
        """True once the run has failed: nobody is waited for any more."""

    def wait(self, task: TaskId, inbox: Any) -> Any:
        while task not in inbox:
            if self.over:
                raise RuntimeError(f"{task} waited for tasks of a run that has failed")
            stuck = self.rendezvous.stuck()
            if stuck is not None and stuck[0] == task:
                raise RuntimeError(f"{task} {stuck[1]}")
            self.changed.wait()
        return inbox.pop(task) if isinstance(inbox, dict) else inbox.discard(task)


class InProcessTask:
    """The `Task` that a function gets in a thread of this process."""

    def __init__(
        self, placement: TaskPlacement, cluster: Mapping[str, Sequence[str]], server: Any, devices: tuple[str, ...]
    ) -> None:
        self._placement = placement
        self._cluster = cluster
        self._server = server
        self.devices = devices
        """Names of the logical devices that are this task's own."""
        self.last_phase = "ready"
        self.meeting: Meeting | None = None

    @property
    def id(self) -> TaskId:
        return self._placement.id

    @property
    def cluster(self) -> Mapping[str, Sequence[str]]:
        return {job: list(addresses) for job, addresses in self._cluster.items()}

    @property
    def gpus(self) -> tuple[str, ...]:
        return self._placement.gpus

    @property
    def target(self) -> str:
        """``grpc://host:port`` of this task's server."""
        return cast("str", self._server.target)

    def start_server(self, config: Any = None) -> Any:
        """The server, which runs already. Raises UsageError for a `config`: it cannot be had any more."""
        if config is not None:
            raise UsageError("A server within this process runs already and takes no other config.")
        return self._server

    def serve(self, config: Any = None) -> None:
        """Wait for release; the server runs already."""
        self.start_server(config)
        self.phase("serving")
        self.wait_for_release()

    def phase(self, name: str) -> None:
        self.last_phase = name

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> dict[TaskId, object]:
        if self.id not in among:
            raise UsageError(f"{self.id} came to the exchange {name!r}, which is among others only.")
        meeting = self._meeting()
        with meeting.changed:
            values = meeting.rendezvous.arrive(self.id, name, among, value)
            if values is not None:
                for id in values:
                    meeting.exchanged[id] = {other: values[other] for other in among}
            meeting.changed.notify_all()
            return cast("dict[TaskId, object]", meeting.wait(self.id, meeting.exchanged))

    def wait_for_release(self) -> None:
        meeting = self._meeting()
        with meeting.changed:
            meeting.rendezvous.await_release(self.id)
            meeting.released |= meeting.rendezvous.take_released()
            meeting.changed.notify_all()
            meeting.wait(self.id, meeting.released)

    def _meeting(self) -> Meeting:
        if self.meeting is None:
            raise UsageError(f"{self.id} runs no function now.")
        return self.meeting
