"""The other side's process: another pytest that answers instead of running tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tfperf.against.ending import code_within, end_group
from pytest_tfperf.against.protocol import Line, ProtocolError
from pytest_tfperf.cluster.logs import private, tail
from pytest_tfperf.cluster.process import describe_exit
from pytest_tfperf.errors import OtherSideError
from pytest_tfperf.interrupts import uninterrupted

_GRACE = 15.0
"""Seconds to end by itself: it stops the cluster that it may be running."""


class OtherPytest:
    """Started at once; asked one thing at a time."""

    def __init__(
        self, name: str, command: Sequence[str], line: tuple[socket.socket, socket.socket], *, log: Path, cwd: Path,
        env: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Start it.

        Args:
            name: what messages call it.
            line: our end and its end, whose descriptor the command names.

        Raises:
            OtherSideError: the interpreter cannot be started.
        """
        self._name = name
        self._python = command[0]
        self._log = log
        self._closed = False
        ours, theirs = line
        self._line = Line(ours)
        try:
            with theirs, open(log, "wb", opener=private) as output:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[theirs.fileno()],
                    cwd=cwd,
                    env=dict(env),
                    start_new_session=True,  # Ctrl-C is this side's to handle; it ends the other one in turn
                )
        except OSError as error:
            ours.close()
            raise OtherSideError(f"{name}: {command[0]} cannot be started: {error.strerror or error}.") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """One request and its reply.

        Where the reply does not come, for whatever reason, the other pytest is ended: it may still be measuring, and an
        answer that came later would be taken for that to another request.

        Raises:
            OtherSideError: it cannot do what is asked, has ended, or does not answer in time.
        """
        try:
            reply = self._asked(request, seconds)
        except BaseException:
            self.close()
            raise
        if "error" in reply:
            raise OtherSideError(f"{self._name}: {reply['error']}")
        return reply

    def _asked(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        try:
            self._line.send(request)
            return self._line.receive(seconds)
        except EOFError:
            raise OtherSideError(self._how_it_ended()) from None
        except TimeoutError:
            raise OtherSideError(
                f"{self._name}: its pytest did not answer {request['do']!r} within {seconds:g} s.{self._output()}"
            ) from None
        except ProtocolError as error:
            raise OtherSideError(f"{self._name}: its pytest-tfperf does not fit this one: {error}.") from None

    def close(self) -> None:
        """End it and everything that it started. Safe to call again."""
        if self._closed:
            return
        with uninterrupted():
            self._closed = True
            with contextlib.suppress(EOFError):
                self._line.send({"do": "stop"})
            self._line.close()
            if code_within(self._process, 0) is None:
                # A measurement in progress does not see the closed line. The signal ends it as Ctrl-C would.
                os.kill(self._process.pid, signal.SIGTERM)
            end_group(self._process, _GRACE)  # with what its conftest may have started

    def _how_it_ended(self) -> str:
        code = code_within(self._process, _GRACE)  # not waited for: `close` has its group to kill
        how = "it has closed the line" if code is None else describe_exit(code)
        output = tail(self._log)
        if "unrecognized arguments" in output and "--tfperf-serve" in output:
            return (
                f"{self._name}: the pytest-tfperf that {self._python} finds there cannot be measured beside this one "
                "(it does not know --tfperf-serve): it is too old, or not installed. Give --tfperf-against a newer "
                "commit, or --tfperf-against-python an interpreter that has it."
            )
        return f"{self._name}: its pytest has ended ({how}).{self._output()}"

    def _output(self) -> str:
        output = tail(self._log)
        return f"\n--- end of its output ---\n{output}" if output else ""
