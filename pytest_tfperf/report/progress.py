"""How far long work is: a line that is rewritten on a terminal, plain lines in a log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Terminal(Protocol):
    """The part of pytest's terminal reporter that is used."""

    @property
    def isatty(self) -> bool: ...

    def ensure_newline(self) -> None: ...

    def rewrite(self, line: str, **markup: bool) -> None: ...

    def write_line(self, line: str, **markup: bool) -> None: ...


class TerminalProgress:
    """Writes past pytest's output capturing; `uncaptured` gives the context in which that is possible."""

    def __init__(self, terminal: Terminal | None, uncaptured: Callable[[], AbstractContextManager[object]]) -> None:
        self._terminal = terminal
        self._uncaptured = uncaptured

    def status(self, text: str) -> None:
        if self._terminal is None or not self._terminal.isatty:
            return
        with self._uncaptured():
            self._terminal.ensure_newline()
            self._terminal.rewrite(f"tfperf: {text} ...", erase=True)

    def line(self, text: str) -> None:
        if self._terminal is None:
            return
        with self._uncaptured():
            if self._terminal.isatty:
                self._terminal.rewrite("", erase=True)
            self._terminal.ensure_newline()
            self._terminal.write_line(f"tfperf: {text}")
