"""The supervisor: it starts every task, tells pytest how each one ended, and lets none outlive pytest.

Started as ``python -m pytest_tfperf.cluster.zygote FD PARENT``. As a zygote it imports TensorFlow once, touches no
device, and forks the tasks; otherwise it starts a fresh interpreter for each of them. Its protocol is the same.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import warnings

from pytest_tfperf.cluster import namespace, process, wire
from pytest_tfperf.cluster.base import Isolation
from pytest_tfperf.cluster.children import Children
from pytest_tfperf.cluster.interpreter import flags, start_environ
from pytest_tfperf.cluster.messages import (
    Configure,
    EnvironmentTried,
    Leave,
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
from pytest_tfperf.cluster.ports import PortPicker
from pytest_tfperf.cluster.shortage import refused
from pytest_tfperf.errors import ClusterStartError

_ORPHAN_SECONDS = 2.0
_LOOK_AT_PARENT = 1.0
"""Seconds between looks whether pytest lives, where the kernel does not tell."""


class Supervisor:
    """Answers pytest's requests, one after the other."""

    def __init__(self, sock: socket.socket, parent: int) -> None:
        self._socket = sock
        self._parent = parent
        self._children = Children()
        self._mode: Mode = "spawn"
        self._picker: PortPicker | None = None
        self._package_root = ""
        self._inherited_dir = ""

    def serve(self) -> None:
        """Do what pytest asks until it is gone, then kill everything."""
        wakeup, waker = socket.socketpair()
        for end in (wakeup, waker):
            end.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(wakeup, selectors.EVENT_READ)
            self._children.not_inherited += [self._socket.fileno(), wakeup.fileno(), waker.fileno()]
            if isinstance(selector, selectors.EpollSelector):
                self._children.not_inherited.append(selector.fileno())
            # A process that pytest has forked may keep the socket open: so watch pytest itself too.
            patience: float | None = _LOOK_AT_PARENT
            if hasattr(os, "pidfd_open"):
                with contextlib.suppress(OSError):  # an old kernel, a sandbox that forbids it, or pytest has gone
                    pidfd = os.pidfd_open(self._parent)
                    self._children.not_inherited.append(pidfd)
                    selector.register(pidfd, selectors.EVENT_READ)
                    patience = None
            try:
                try:
                    self._answer(selector, wakeup, patience)
                finally:
                    self._children.kill_all()
            except (EOFError, ConnectionError):
                self._await_orphanhood()
            finally:
                if self._inherited_dir and os.getppid() != self._parent:
                    shutil.rmtree(self._inherited_dir, ignore_errors=True)

    def _answer(self, selector: selectors.BaseSelector, wakeup: socket.socket, patience: float | None) -> None:
        """Do what is asked until this process is told to leave, or pytest has gone; it is looked for at `patience`."""
        while True:
            ready = {key.fd for key, _ in selector.select(patience)}
            if wakeup.fileno() in ready:
                wakeup.recv(4096)
                for key, code in self._children.reap():
                    self._send(TaskExited(key, code))
            if self._socket.fileno() in ready:
                request, fds = wire.receive(self._socket)
                if isinstance(request, Leave):
                    return
                self._handle(request, fds)
            elif ready - {wakeup.fileno()} or os.getppid() != self._parent:
                return

    def _await_orphanhood(self) -> None:
        """Nobody told this process to leave, so that pytest is dying: its sockets close before its children lose it."""
        deadline = time.monotonic() + _ORPHAN_SECONDS
        while os.getppid() == self._parent and time.monotonic() < deadline:
            time.sleep(0.01)

    def _handle(self, request: object, fds: list[int]) -> None:
        if isinstance(request, Configure):
            try:
                answer = self._configure(request)
            except OSError as error:
                reason = f"The process that starts the tasks cannot be set up: {refused(error)}"
                answer = SupervisorFailed(reason, False)
            self._send(answer)
        elif isinstance(request, PickPorts):
            if self._picker is None:
                self._picker = PortPicker()
            try:
                self._send(PortsPicked(tuple(self._picker.pick(request.count))))
            except ClusterStartError:
                self._send(PortsPicked(()))
        elif isinstance(request, StartTask):
            self._start(request, *fds)
        elif isinstance(request, StartSwitch):
            self._start_switch(request, *fds)
        elif isinstance(request, TryEnvironment):
            self._send(EnvironmentTried(self._try(request)))
        elif isinstance(request, SignalTasks):
            for key in request.keys:
                self._children.signal(key, request.signal, group=request.group)
        else:
            raise AssertionError(request)

    def _send(self, message: object) -> None:
        wire.send(self._socket, message)

    def _configure(self, request: Configure) -> SupervisorReady | SupervisorFailed:
        os.environ.clear()
        os.environ.update(request.environ)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
        os.chdir(request.cwd)
        self._package_root = request.package_root
        self._inherited_dir = request.inherited_dir
        process.adopt_orphans()
        isolation: Isolation = "host"
        if request.isolation != "host":
            if namespace.available():
                namespace.enter()  # before TensorFlow: a user namespace can be made by a single thread only
                isolation = "namespace"
            elif request.isolation == "namespace":
                return SupervisorFailed("This kernel gives no right to make a network namespace.", False)
        own_path = list(sys.path)
        if importlib.util.find_spec("tensorflow") is None:
            sys.path[:] = request.sys_path
            if importlib.util.find_spec("tensorflow") is None:
                return SupervisorFailed("", True)
        began, reason = time.monotonic(), None
        self._mode = request.mode
        if request.mode == "fork":
            with process.leaves_with(self._parent):  # else it goes on to the end of an import of many seconds
                for name in request.preload:
                    try:
                        importlib.import_module(name)
                    except BaseException as error:
                        return SupervisorFailed(f"Importing {name} failed: {type(error).__name__}: {error}", False)
            sys.path[:] = own_path
            reason = _why_not_fork()
            if reason is not None:
                self._mode = "spawn"
            gc.collect()
            gc.freeze()  # a collection in a task must not write to, and so copy, all that it shares with us
        return SupervisorReady(self._mode, isolation, time.monotonic() - began, reason)

    def _start(self, request: StartTask, channel: int, log: int, host: int | None = None) -> None:
        def become() -> None:
            if host is not None:
                namespace.join(host)  # while this process still has the rights: an exec can lose them
                os.close(host)
            self._become_task(channel, request.settings)

        pid = self._children.fork_task(request.key, log, request.settings.cores, become)
        os.close(channel)
        if host is not None:
            os.close(host)
        if pid is None:
            self._send(TaskExited(request.key, process.NOT_SET_UP))
        else:
            self._send(TaskStarted(request.key, pid))

    def _start_switch(self, request: StartSwitch, line: int) -> None:
        def become() -> None:
            from pytest_tfperf.cluster import switch

            switch.main(socket.socket(fileno=line), request)

        self._children.fork_switch(request.key, become)
        os.close(line)

    def _try(self, request: TryEnvironment) -> bool:
        """Whether a process like the tasks' ends well under this environment; it is killed where it takes too long."""

        def become() -> None:
            from pytest_tfperf.cluster import trial

            if self._mode == "fork":
                trial.trial(request.added)
            command = [sys.executable, *flags(), "-m", "pytest_tfperf.cluster.trial"]
            os.chdir("/")
            os.execve(sys.executable, command, start_environ({**os.environ, **request.added}, self._package_root))

        pid = self._children.fork(os.open(os.devnull, os.O_WRONLY), None, become)
        if pid is None:
            return False
        deadline = time.monotonic() + request.seconds
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() >= deadline or os.getppid() != self._parent:
                process.signal_process(pid, signal.SIGKILL, group=True)
                break
            time.sleep(0.005)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def _become_task(self, channel: int, settings: TaskSettings) -> None:
        from pytest_tfperf.cluster import task

        if self._mode == "fork":
            sock = socket.socket(fileno=channel)
            own, _ = wire.receive(sock)
            assert isinstance(own, TaskSettings)
            task.main(sock, own, fresh=False)
        os.set_inheritable(channel, True)
        command = [sys.executable, *flags(), "-m", "pytest_tfperf.cluster.task", str(channel)]
        os.chdir("/")  # `-m` puts the working directory first on sys.path; the task goes to its own later
        os.execve(sys.executable, command, start_environ(settings.environ, self._package_root))


def _why_not_fork() -> str | None:
    others = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
    if others:
        return f"importing TensorFlow has started other Python threads ({', '.join(others)})"
    context = sys.modules.get("tensorflow.python.eager.context")
    current = getattr(context, "_context", None)
    if current is not None and getattr(current, "_initialized", False):
        return "something has initialised TensorFlow's devices while it was imported"
    return None


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is pytest's; it then tells us what to do
    # Forking is what this process is for; Python 3.12 counts BLAS's threads too and warns.
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    _socket = socket.socket(fileno=int(sys.argv[1]))
    _socket.set_inheritable(False)
    _code = 0
    try:
        Supervisor(_socket, int(sys.argv[2])).serve()
    except Exception:
        traceback.print_exc()  # into the log
        _code = 1
    finally:
        os._exit(_code)  # no exit handler of an imported library may keep us
