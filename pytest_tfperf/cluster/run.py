"""One function in every task of a cluster of processes: what they say meanwhile, and who is to blame if it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pytest_tfperf.cluster import ports
from pytest_tfperf.cluster.base import EventKind
from pytest_tfperf.cluster.faults import (
    Fault,
    certain,
    collateral,
    culprits_of,
    fault_error,
    first_cause,
    held_error,
    timeout_error,
)
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
from pytest_tfperf.cluster.ports import PortClashError
from pytest_tfperf.cluster.process import describe_exit
from pytest_tfperf.cluster.rendezvous import Rendezvous
from pytest_tfperf.cluster.task_group import TaskGroup
from pytest_tfperf.cluster.task_process import Exited, TaskProcess
from pytest_tfperf.errors import TaskFailedError
from pytest_tfperf.records.task import TaskId

BLAME_GRACE = 0.5
"""Seconds to wait for the cause after a fault that may be only another one's effect."""


class Run:
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
            self._faults.append(Fault(task.id, code=message.code, finished=task.finished))
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
        held = self._group.held()
        if held and collateral(fault):
            phases = {id: self._group.tasks[id].phase for id in held}
            raise held_error(held, phases, self._group.states({**self._notes(), **held}, held))
        task = self._group.tasks[fault.task]
        clashes = [one for one in self._faults if one.raised is not None and ports.is_clash(one.raised.message)]
        if clashes and not certain(fault):
            raise PortClashError(f"{clashes[0].task} could not start its server: its port was taken.")
        raise fault_error(fault, task.phase, self._group.states({**self._notes(), **held}, (fault.task,)))

    def _notes(self) -> dict[TaskId, str]:
        raised = {one.task: f"raised {one.raised.type}" for one in self._faults if one.raised is not None}
        return {**self._meeting.waits(), **raised}

    def _time_out(self, seconds: float) -> None:
        late = [task.id for task in self._chosen if task.id not in self._values]
        waits, held = self._meeting.waits(), self._group.held()
        culprits = culprits_of(late, waits, held)
        self._group.dump_stacks([id for id in culprits if id not in held])
        phases = {task.id: task.phase for task in self._chosen}
        raise timeout_error(culprits, held, phases, seconds, self._group.states({**waits, **held}, culprits))
