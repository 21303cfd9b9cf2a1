"""The supervisor's process and the line to it: whole messages there, whole messages back, and its end."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_tfperf.cluster import wire
from pytest_tfperf.cluster.interpreter import flags, start_environ
from pytest_tfperf.cluster.logs import private, tail
from pytest_tfperf.cluster.messages import Leave

PATIENCE = 10.0
"""Seconds that a live supervisor may take to read or answer a request; each is some milliseconds' work."""


class SupervisorProcess:
    """One process of the module `zygote`, which waits to be told what it is to do."""

    def __init__(self, environ: Mapping[str, str], package_root: str, run_dir: Path, number: int) -> None:
        """Start the process and do not wait for it. Raises OSError."""
        self.code: int | None = None
        """Its exit code, once it has been ended or found ended."""
        self._log = run_dir / f"supervisor-{number}.log"
        self._inbox = wire.Inbox()
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(PATIENCE)
        command = [sys.executable, *flags(), "-m", "pytest_tfperf.cluster.zygote"]
        try:
            with theirs, open(self._log, "wb", opener=private) as log:
                self._process = subprocess.Popen(
                    [*command, str(theirs.fileno()), str(os.getpid())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    # `-m` puts the working directory first on sys.path: let it be one that holds no modules.
                    cwd=run_dir,
                    env=start_environ(environ, package_root),
                    start_new_session=True,
                )
        except BaseException:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self.code is None and self._process.poll() is None

    def send(self, message: object, fds: Sequence[int] = ()) -> None:
        """Raises OSError where the process takes no message any more."""
        wire.send(self._socket, message, fds)

    def readable(self, deadline: float) -> bool:
        """Wait until something has come, the process's end included, or `deadline` on the monotonic clock is there."""
        poll = select.poll()  # and not select(), which takes no descriptor over 1023
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))

    def received(self) -> list[object]:
        """Messages that one packet made whole. Raises ConnectionError where the process has ended."""
        try:
            data = self._socket.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            raise ConnectionError
        return list(self._inbox.feed(data))

    def end(self, *, at_once: bool) -> None:
        """Ask it to end, or kill it, and wait for that. Safe to call again."""
        with contextlib.suppress(OSError):
            self.send(Leave())
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # a process that pytest has forked may hold the socket too
        self._socket.close()
        if self.code is None:
            if at_once:
                self._process.kill()
            try:
                self.code = self._process.wait(5.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self.code = self._process.wait()

    def log_text(self) -> str:
        """The end of what it wrote, for an error's text; empty where it wrote nothing."""
        text = tail(self._log)
        return f"\n--- end of its log ---\n{text}" if text else ""

    def remove_log(self) -> None:
        self._log.unlink(missing_ok=True)
