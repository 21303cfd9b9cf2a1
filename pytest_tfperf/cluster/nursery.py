"""pytest's handle on the supervisor process: starts it, asks it for tasks, hears how they end."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import pytest_tfperf
from pytest_tfperf.cluster.base import Isolation
from pytest_tfperf.cluster.messages import (
    Configure,
    EnvironmentTried,
    Mode,
    PickPorts,
    PortsPicked,
    SignalTasks,
    StartSwitch,
    StartTask,
    SupervisorFailed,
    SupervisorReady,
    TaskExited,
    TaskSettings,
    TaskStarted,
    TryEnvironment,
)
from pytest_tfperf.cluster.process import describe_exit
from pytest_tfperf.cluster.supervisor_process import PATIENCE, SupervisorProcess
from pytest_tfperf.errors import ClusterStartError, TensorFlowMissingError
from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.records.link import Link

T = TypeVar("T")

_TRIAL_SECONDS = 60.0
"""Seconds that trying an environment may take: a fork needs 0.2, a fresh interpreter the whole import."""


class SupervisorGoneError(Exception):
    """The supervisor's process has ended; its text says how."""


class Nursery:
    """One supervisor process, from start to end."""

    def __init__(
        self,
        mode: Mode,
        *,
        isolation: Literal["auto", "namespace", "host"],
        environ: Mapping[str, str],
        preload: Sequence[str],
        run_dir: Path,
        keep_logs: bool,
        number: int,
    ) -> None:
        """Start the process and do not wait for it. Raises OSError and SupervisorGoneError."""
        package_root = os.path.dirname(os.path.abspath(pytest_tfperf.__path__[0]))
        self.environ = dict(environ)
        self.ready: SupervisorReady | None = None
        self.exits: dict[int, int] = {}
        """Exit code of each task that has ended, by its key."""
        self.pids: dict[int, int] = {}
        self.users = 0
        """Clusters that run on it now."""
        self._keys = itertools.count(1)
        self._picked: list[tuple[int, ...]] = []
        self._tried: list[bool] = []
        self._keep_logs = keep_logs
        inherited = "" if keep_logs else str(run_dir)
        path, cwd = tuple(sys.path), os.getcwd()
        settings = Configure(mode, isolation, self.environ, path, cwd, tuple(preload), package_root, inherited)
        self._process = SupervisorProcess(environ, package_root, run_dir, number)
        try:
            self._send(settings)
        except BaseException:  # nobody else holds this object
            self.close()
            raise

    def fileno(self) -> int:
        return self._process.fileno()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def isolation(self) -> Isolation:
        assert self.ready is not None
        return self.ready.isolation

    def wait_ready(self, deadline: float) -> SupervisorReady:
        """Wait for the import, until `deadline` on the monotonic clock.

        Raises TensorFlowMissingError, and ClusterStartError where it fails or takes too long.
        """
        try:
            while self.ready is None:
                if not self._receive(deadline):
                    raise ClusterStartError(
                        "Importing TensorFlow was not done within the deadline of the cluster's start. "
                        "Give it a longer start_timeout." + self._process.log_text()
                    )
        except SupervisorGoneError as error:
            raise ClusterStartError(
                f"The process that imports TensorFlow and starts the tasks has ended ({error})."
                + self._process.log_text()
            ) from None
        return self.ready

    def pick_ports(self, count: int) -> list[int]:
        """Free ports in the tasks' network namespace. Raises ClusterStartError and SupervisorGoneError."""
        picked = self._asked(PickPorts(count), self._picked, PATIENCE)
        if len(picked) < count:
            raise ClusterStartError(f"There are no {count} free ports for the cluster.")
        return list(picked)

    def try_environment(self, added: Mapping[str, str]) -> bool:
        """Whether TensorFlow compiles in a task with these variables added: XLA ends a process at an unknown flag.

        Raises ClusterStartError and SupervisorGoneError.
        """
        return self._asked(TryEnvironment(added, _TRIAL_SECONDS), self._tried, _TRIAL_SECONDS + PATIENCE)

    def new_key(self) -> int:
        """Number of a process that it is to start."""
        return next(self._keys)

    def start_task(
        self, key: int, settings: TaskSettings, channel: socket.socket, log: int, host: int | None = None
    ) -> None:
        """`host` is the descriptor of a network namespace that the task is to be in."""
        self._send(StartTask(key, settings), (channel.fileno(), log, *(() if host is None else (host,))))

    def start_switch(self, key: int, link: Link, hosts: Sequence[int], line: socket.socket) -> None:
        self._send(StartSwitch(key, link, tuple(hosts), tuple(sys.path)), (line.fileno(),))

    def signal(self, keys: Sequence[int], number: signal.Signals, *, group: bool = True) -> None:
        """Signal the tasks that still live."""
        self._send(SignalTasks(tuple(keys), number, group))

    def receive(self) -> None:
        """Take in what has come; waits for nothing. Raises SupervisorGoneError."""
        self._receive(time.monotonic())

    def wait_exit(self, key: int, deadline: float) -> None:
        """Wait for the end of a process that was told to end, and forget it; kill it at the deadline."""
        while key not in self.exits and self._receive(deadline):
            pass
        if key not in self.exits:
            self.signal([key], signal.SIGKILL)
        self.exits.pop(key, None)

    def close(self) -> None:
        """End the supervisor, and with it every task. Safe to call again."""
        with uninterrupted():
            # Until it is ready it may be within an import of many seconds, and has no task yet.
            self._process.end(at_once=self.ready is None)
            # The kernel has killed the tasks with the supervisor, but not what they had started.
            for pid in self.pids.values():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
            self.pids.clear()

    def _asked(self, request: object, answers: list[T], seconds: float) -> T:
        """Send a request whose answer comes into `answers`, and wait for it.

        Where it does not come, for whatever reason, the supervisor is ended: an answer that came later would be taken
        for that to another request.
        """
        try:
            self._send(request)
            deadline = time.monotonic() + seconds
            while not answers:
                if not self._receive(deadline):
                    raise ClusterStartError("The process that starts the tasks does not answer.")
        except BaseException:
            self.close()
            raise
        return answers.pop()

    def discard(self) -> None:
        """Close, and remove the log unless logs are kept: a session may need many supervisors in turn."""
        self.close()
        if not self._keep_logs:
            self._process.remove_log()

    def _receive(self, deadline: float) -> bool:
        """Take in at least one packet; False where none came before the deadline."""
        self._must_live()
        if not self._process.readable(deadline):
            return False
        try:
            with uninterrupted():  # what is received is taken in, or the rest of it would mean nothing
                for message in self._process.received():
                    self._take(message)
        except ConnectionError:
            self._gone()
        return True

    def _take(self, message: object) -> None:
        if isinstance(message, SupervisorReady):
            self.ready = message
        elif isinstance(message, SupervisorFailed):
            self.close()
            if message.tensorflow_missing:
                raise TensorFlowMissingError
            raise ClusterStartError(message.reason)
        elif isinstance(message, PortsPicked):
            self._picked.append(message.ports)
        elif isinstance(message, EnvironmentTried):
            self._tried.append(message.works)
        elif isinstance(message, TaskStarted):
            self.pids[message.key] = message.pid
        elif isinstance(message, TaskExited):
            self.exits[message.key] = message.code
            self.pids.pop(message.key, None)
        else:
            raise AssertionError(message)

    def _send(self, message: object, fds: Sequence[int] = ()) -> None:
        self._must_live()
        try:
            with uninterrupted():  # nobody would understand what comes after half a message
                self._process.send(message, fds)
        except OSError:
            self._gone()

    def _must_live(self) -> None:
        if self._process.code is not None:
            raise SupervisorGoneError(describe_exit(self._process.code))

    def _gone(self) -> None:
        self.close()
        self._must_live()
