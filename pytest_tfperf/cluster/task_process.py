"""One task's process, as pytest sees it: its channel, its log, what is known of it, and where it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_tfperf.cluster.logs import Log
from pytest_tfperf.cluster.nursery import Nursery, SupervisorGoneError
from pytest_tfperf.cluster.process import DUMP_SIGNAL, describe_exit
from pytest_tfperf.cluster.wire import Channel
from pytest_tfperf.errors import TaskState
from pytest_tfperf.records.task import TaskId

_DUMP_GRACE = 3.0
_DUMP_STILL = 0.1
"""Seconds in which a log did not grow, so that all of a stack is in it."""


@dataclass(frozen=True)
class Exited:
    """A task's process has ended."""

    code: int


@dataclass
class TaskProcess:
    """One task's process, channel and log."""

    id: TaskId
    key: int
    channel: Channel
    log: Log
    phase: str = "starting"
    code: int | None = None
    """Exit code once the process has ended."""
    finished: bool = False
    """True once it has given the result of the run that is on."""

    def state(self, notes: Mapping[TaskId, str], *, with_log: bool) -> TaskState:
        if self.code is not None:
            state = describe_exit(self.code)
        elif self.finished:
            state = "finished"
        else:
            state = notes.get(self.id, "running")
        return TaskState(str(self.id), state, self.phase, self.log.tail() if with_log else "")


def dump_stacks(nursery: Nursery, tasks: Sequence[TaskProcess]) -> None:
    """Have living tasks write where they are into their logs, and wait until they have."""
    before = {task.key: task.log.size for task in tasks}
    try:
        nursery.signal([task.key for task in tasks], DUMP_SIGNAL, group=False)
    except SupervisorGoneError:
        return
    now, sizes = time.monotonic(), dict(before)
    deadline, still_since = now + _DUMP_GRACE, now
    while now < deadline and (now < still_since + _DUMP_STILL or any(sizes[key] == before[key] for key in sizes)):
        time.sleep(0.01)
        now, last, sizes = time.monotonic(), sizes, {task.key: task.log.size for task in tasks}
        if sizes != last:
            still_since = now
