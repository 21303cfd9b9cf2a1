"""The processes of one cluster, as pytest sees them: started, watched, and ended without a rest."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import socket
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pytest_tfperf.cluster.faults import Fault, fault_error, first_cause
from pytest_tfperf.cluster.generated import GENERATED
from pytest_tfperf.cluster.logs import Log, private
from pytest_tfperf.cluster.messages import Leave, PhaseChanged, TaskSettings
from pytest_tfperf.cluster.network import Network
from pytest_tfperf.cluster.nursery import Nursery, SupervisorGoneError
from pytest_tfperf.cluster.ports import PortHold
from pytest_tfperf.cluster.process import describe_exit, label, why_held
from pytest_tfperf.cluster.task_process import Exited, TaskProcess, dump_stacks
from pytest_tfperf.cluster.wire import Channel
from pytest_tfperf.errors import ClusterError, TaskDiedError, TaskState, UsageError
from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.records.task import TaskId

LEAVE_GRACE = 2.0
"""Seconds that a task which is told to leave has to do so."""
TERM_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
_KILL_GRACE = 10.0
"""Seconds to wait for a killed process; only one that hangs inside the kernel takes so long."""
_LOOK_AT_LOGS = 0.25
"""Seconds between looks at the logs' sizes."""


class TaskGroup:
    """All tasks of one start of a cluster."""

    def __init__(
        self,
        nursery: Nursery,
        settings: Sequence[TaskSettings],
        log_dir: Path,
        hold: PortHold | None = None,
        network: Network | None = None,
        hosts: Mapping[TaskId, int] | None = None,
    ) -> None:
        """Start every process and wait for none. Raises SupervisorGoneError.

        With a `network`, each task goes to its host of `hosts`; the group closes it.
        """
        self.tasks: dict[TaskId, TaskProcess] = {}
        self._nursery = nursery
        self._hold = hold
        self._network = network
        self._log_dir = log_dir
        self._closed = False
        self._owner = os.getpid()
        self._addresses = settings[0].addresses
        for folder in (log_dir, log_dir / GENERATED):
            folder.mkdir(mode=0o700, exist_ok=True)
        nursery.users += 1
        try:
            for one in settings:
                self._start(one, None if network is None or hosts is None else network.namespaces[hosts[one.id]])
            if network is not None:
                network.let_go()
        except BaseException:
            self.close(hard=True)
            raise

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def addresses(self) -> dict[str, list[str]]:
        return {job: list(addresses) for job, addresses in self._addresses.items()}

    @property
    def network(self) -> Network | None:
        """The links between the cluster's hosts, where it has any."""
        return self._network

    def check_owner(self) -> None:
        """Raises UsageError in a process that was forked from the one that started the cluster."""
        if os.getpid() != self._owner:
            raise UsageError("This cluster is that of another process, from which this one was forked.")

    def pids(self) -> dict[TaskId, int]:
        """Process id of each living task."""
        pids = self._nursery.pids
        return {task.id: pids[task.key] for task in self.living() if task.key in pids}

    def log_tail(self, id: TaskId) -> str:
        return self.tasks[id].log.tail()

    def living(self) -> list[TaskProcess]:
        return [task for task in self.tasks.values() if task.code is None]

    def wait(self, deadline: float) -> list[tuple[TaskProcess, object]]:
        """What tasks have said, and an `Exited` for each that ended; empty once the deadline has passed.

        What a task said before it ended comes before its end. Raises TaskDiedError where the supervisor itself ended.
        """
        while True:
            # Exits first: a task's last words are in its channel for certain by then.
            try:
                self._nursery.receive()
            except SupervisorGoneError as error:
                raise self.supervisor_died(error) from None
            if self._network is not None and self._network.key in self._nursery.exits:
                code = self._nursery.exits[self._network.key]
                summary = f"The process that joins the cluster's hosts has ended ({describe_exit(code)})."
                raise TaskDiedError(summary, self.states({}, ()))
            events = self._collect()
            left = deadline - time.monotonic()
            if events or left <= 0:
                return events
            self._select(min(left, _LOOK_AT_LOGS))
            for task in self.tasks.values():
                task.log.bound()

    def _collect(self) -> list[tuple[TaskProcess, object]]:
        events: list[tuple[TaskProcess, object]] = []
        for task in self.living():
            code = self._nursery.exits.pop(task.key, None)
            task.channel.flush()
            for message in task.channel.receive():
                if isinstance(message, PhaseChanged):
                    task.phase = message.name
                events.append((task, message))
            if code is not None:
                task.code = code
                events.append((task, Exited(code)))
        return events

    def _select(self, seconds: float) -> None:
        with selectors.PollSelector() as selector:
            selector.register(self._nursery, selectors.EVENT_READ)
            for task in self.living():
                if not task.channel.ended:
                    writes = selectors.EVENT_WRITE if task.channel.wants_to_write else 0
                    selector.register(task.channel, selectors.EVENT_READ | writes)
            selector.select(seconds)

    def states(self, notes: Mapping[TaskId, str], guilty: Collection[TaskId]) -> tuple[TaskState, ...]:
        """Every task's state (`notes` say it better than ``running``); the log's end for the guilty only."""
        return tuple(task.state(notes, with_log=task.id in guilty) for task in self.tasks.values())

    def held(self) -> dict[TaskId, str]:
        """Living tasks that something keeps from running, and what that is."""
        found = {id: why_held(pid) for id, pid in self.pids().items()}
        return {id: why for id, why in found.items() if why}

    def supervisor_died(self, error: SupervisorGoneError) -> TaskDiedError:
        """The error for when all tasks have gone with the process that started them."""
        for task in self.living():
            task.code = -signal.SIGKILL
        summary = (
            f"The process that supervises the tasks has ended ({error}), and every task with it. "
            "The next cluster starts a new one."
        )
        return TaskDiedError(summary, self.states({}, ()))

    def dump_stacks(self, ids: Collection[TaskId]) -> None:
        """Have tasks write where they are into their logs, and wait until they have."""
        dump_stacks(self._nursery, [self.tasks[id] for id in ids if self.tasks[id].code is None])

    def close(self, *, hard: bool = False, keep_logs: bool = False) -> None:
        """End every process: by request, then SIGTERM, then SIGKILL (`hard`: from SIGTERM on). Safe to call again.

        Raises TaskDiedError, once all is gone, where a task ended before it was asked to, or crashed as it was. One
        that ends with exit code 0 at the moment in which it is asked may be taken for one that did as it was told.
        """
        if self._closed or os.getpid() != self._owner:
            return
        with uninterrupted():
            self._close(hard, keep_logs)

    def _close(self, hard: bool, keep_logs: bool) -> None:
        self._closed = True
        crash: ClusterError | None = None
        try:
            if not hard:
                self._await_exits(0.0)
                faults = self._ended()
                for task in self.living():
                    task.channel.send(Leave())
                self._await_exits(LEAVE_GRACE)
                # One that does as it was told ends with 0. TensorFlow may abort in one for having lost another.
                obeyed = (0, -signal.SIGABRT)
                faults += [fault for fault in self._ended() if fault.code not in obeyed and fault not in faults]
                if faults:
                    cause = first_cause(faults)
                    crash = fault_error(cause, self.tasks[cause.task].phase, self.states({}, (cause.task,)))
            for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
                keys = [task.key for task in self.living()]
                if keys:
                    self._nursery.signal(keys, number)
                    self._await_exits(grace)
            if self._network is not None:
                self._network.close()
                self._nursery.wait_exit(self._network.key, time.monotonic() + TERM_GRACE)
        except SupervisorGoneError:
            pass  # it took the tasks with it
        finally:
            self._nursery.users -= 1
            for task in self.tasks.values():
                task.channel.close()
            if self._hold is not None:
                self._hold.close()
            if self._network is not None:
                self._network.close()
            if keep_logs:
                for task in self.tasks.values():
                    task.log.close_up()
            # Where the supervisor has gone, a task may still be about to die and write.
            shutil.rmtree(self._log_dir / GENERATED if keep_logs else self._log_dir, ignore_errors=True)
        if crash is not None:
            raise crash

    def _ended(self) -> list[Fault]:
        return [
            Fault(task.id, task.code, finished=task.finished) for task in self.tasks.values() if task.code is not None
        ]

    def _start(self, settings: TaskSettings, host: int | None) -> None:
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        task = TaskProcess(
            settings.id, self._nursery.new_key(), channel, Log(self._log_dir / f"{label(settings.id)}.log")
        )
        try:
            channel.send(settings)
            log = private(str(task.log.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                with uninterrupted():  # what has been started is one of the tasks, whose ends are waited for
                    self._nursery.start_task(task.key, settings, theirs, log, host)
                    self.tasks[settings.id] = task
            finally:
                os.close(log)
        except BaseException:
            channel.close()
            raise
        finally:
            theirs.close()

    def _await_exits(self, grace: float) -> None:
        deadline = time.monotonic() + grace
        with selectors.PollSelector() as selector:  # which needs no descriptor: there may be none left
            selector.register(self._nursery, selectors.EVENT_READ)
            while True:
                self._nursery.receive()
                for task in self.living():
                    task.channel.flush()
                    task.code = self._nursery.exits.pop(task.key, None)
                left = deadline - time.monotonic()
                if left <= 0 or not self.living():
                    return
                selector.select(min(left, 0.1))  # not longer: a full channel may have room again
