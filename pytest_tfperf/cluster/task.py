"""The inside of a task: it says that it is ready, runs the functions that pytest sends, and leaves when told.

Run as ``python -m pytest_tfperf.cluster.task FD`` for a task in a fresh interpreter.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import pickle
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from pytest_tfperf.cluster import ports, wire
from pytest_tfperf.cluster.faults import shown_below
from pytest_tfperf.cluster.generated import keep_generated_code
from pytest_tfperf.cluster.messages import (
    AwaitsRelease,
    ExchangeArrived,
    ExchangeDone,
    Leave,
    PhaseChanged,
    Released,
    RunFunction,
    TaskFinished,
    TaskRaised,
    TaskReady,
    TaskSettings,
)
from pytest_tfperf.cluster.process import DUMP_SIGNAL
from pytest_tfperf.cluster.values import MAX_VALUE, TooLargeError, pack
from pytest_tfperf.errors import TfPerfError, UsageError
from pytest_tfperf.records.task import TaskId

_MAX_TEXT = 1 << 15
"""Characters of an exception's text and of its traceback."""


class Line:
    """The task's end of its channel to pytest."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._sending = threading.Lock()
        self._owner = os.getpid()

    def send(self, message: object) -> None:
        if os.getpid() != self._owner:
            raise UsageError("A process that a task has forked is not the task: only the task itself can say this.")
        with self._sending:
            try:
                wire.send(self._socket, message)
            except OSError:
                leave()

    def receive(self) -> object:
        try:
            message, _ = wire.receive(self._socket)
        except (EOFError, OSError):
            leave()
        if isinstance(message, Leave):  # whatever was waited for will not come
            leave()
        return message


class ProcessTask:
    """The `Task` that a function gets in a process of its own."""

    def __init__(self, settings: TaskSettings, line: Line) -> None:
        self._settings = settings
        self._line = line
        self._server: Any = None

    @property
    def id(self) -> TaskId:
        return self._settings.id

    @property
    def cluster(self) -> Mapping[str, Sequence[str]]:
        return {job: list(addresses) for job, addresses in self._settings.addresses.items()}

    @property
    def gpus(self) -> tuple[str, ...]:
        return self._settings.gpus

    @property
    def target(self) -> str:
        """``grpc://host:port`` of this task's server; raises UsageError before `start_server`."""
        if self._server is None:
            raise UsageError(f"{self.id} runs no TensorFlow server: call task.start_server() first.")
        return cast("str", self._server.target)

    def start_server(self, config: Any = None) -> Any:
        """Start this task's ``tf.distribute.Server`` (once; later calls give the same one).

        `config` is a ``tf.compat.v1.ConfigProto``.
        """
        if self._server is None:
            import tensorflow as tf

            self._server = tf.distribute.Server(
                tf.train.ClusterSpec(self.cluster),
                job_name=self.id.type,
                task_index=self.id.index,
                protocol="grpc",
                config=config,
            )
        return self._server

    def serve(self, config: Any = None) -> None:
        """Start the server and wait for release: all that a parameter server does."""
        self.start_server(config)
        self.phase("serving")
        self.wait_for_release()

    def phase(self, name: str) -> None:
        self._line.send(PhaseChanged(name))

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> dict[TaskId, object]:
        """See `Task.exchange`. Raises UsageError where this task is not among them or `value` cannot be pickled."""
        if self.id not in among:
            raise UsageError(f"{self.id} came to the exchange {name!r}, which is among others only.")
        try:
            payload = pack(value)
        except Exception as error:
            raise UsageError(f"{self.id} cannot pickle its value for the exchange {name!r}: {error}") from error
        self._line.send(ExchangeArrived(name, tuple(among), payload))
        answer = self._line.receive()
        assert isinstance(answer, ExchangeDone), answer
        return {id: pickle.loads(answer.payloads[id]) for id in among}

    def wait_for_release(self) -> None:
        self._line.send(AwaitsRelease())
        answer = self._line.receive()
        assert isinstance(answer, Released), answer


def main(sock: socket.socket, settings: TaskSettings, *, fresh: bool) -> NoReturn:
    """Be a task until told to leave. `fresh`: in an interpreter that has imported nothing yet."""
    try:
        # Before anything of TensorFlow: it reads its variables when it first touches a device.
        os.environ.clear()
        os.environ.update(settings.environ)
        tempfile.tempdir = None  # whatever the zygote has found out
        sys.path[:] = settings.sys_path
        importlib.invalidate_caches()
        os.chdir(settings.cwd)
        for stream in (sys.stdout, sys.stderr):
            # What was printed must be in the log even if the task is killed in the next moment.
            stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        faulthandler.enable(all_threads=True)
        faulthandler.register(DUMP_SIGNAL, all_threads=True)
        if fresh:
            for name in settings.preload:
                importlib.import_module(name)
        elif "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()  # else all forked tasks would draw the same numbers
        keep_generated_code(settings.generated)
        line = Line(sock)
        line.send(TaskReady(_port_is_free(settings)))
        _serve(ProcessTask(settings, line), line)
    except BaseException:
        traceback.print_exc()
        leave(70)
    leave()


def leave(code: int = 0) -> NoReturn:
    """End at once: closing a TensorFlow session or server whose peers are gone can block for ever."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # nobody is left to be told
            stream.flush()
    os._exit(code)


def _serve(task: ProcessTask, line: Line) -> None:
    while True:
        request = line.receive()
        assert isinstance(request, RunFunction), request
        line.send(_run(task, request.payload))


def _run(task: ProcessTask, payload: bytes) -> TaskFinished | TaskRaised:
    try:
        function, args = pickle.loads(payload)
        result = function(task, *args)
    except Exception as error:
        return _raised(error)
    except SystemExit as error:  # sys.exit() in a function means what it means elsewhere
        sys.stderr.write(traceback.format_exc())
        leave(error.code if isinstance(error.code, int) else int(error.code is not None))
    what = f"its result, a {type(result).__qualname__},"
    try:
        return TaskFinished(pack(result))
    except TooLargeError:
        problem = f"{what} takes more than {MAX_VALUE >> 20} MiB. Write it to a file, and give back where that is."
        return TaskRaised("", problem, "", None)
    except Exception as error:
        problem = f"{what} cannot be pickled ({type(error).__name__}: {_cut(str(error))})"
        return TaskRaised("", f"{problem}. Give back plain values or NumPy arrays.", "", None)


def _raised(error: Exception) -> TaskRaised:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception:
        message = "(its text cannot be had)"
    own = None
    if isinstance(error, TfPerfError) and kind.__module__.startswith("pytest_tfperf."):
        try:
            own = pickle.dumps(error)
            pickle.loads(own)
        except Exception:
            own = None
    below = shown_below(error, message)
    return TaskRaised(name, _cut(message), _cut(below), None if own is not None and len(own) > _MAX_TEXT else own)


def _cut(text: str) -> str:
    """The beginning and the end of a text that is very long."""
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT // 2]}\n  ...\n{text[-_MAX_TEXT // 2 :]}"


def _port_is_free(settings: TaskSettings) -> bool:
    address = settings.addresses[settings.id.type][settings.id.index]
    return ports.is_free(int(address.rpartition(":")[2]), share=settings.shares_port)


if __name__ == "__main__":
    _socket = socket.socket(fileno=int(sys.argv[1]))
    _socket.set_inheritable(False)
    _settings, _ = wire.receive(_socket)
    assert isinstance(_settings, TaskSettings)
    main(_socket, _settings, fresh=True)
