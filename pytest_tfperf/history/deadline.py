"""Calls that must come back in time, whatever they wait for: a name server, a frozen database, a file system."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class GaveUpError(Exception):
    """The call took longer than it was allowed to."""


class Deadline:
    """Whether the caller still waits, and how to break off what it waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._break_off: Callable[[], None] | None = None

    def on_end(self, break_off: Callable[[], None]) -> None:
        """Say what breaks the call off; raises GaveUpError where it is too late already."""
        with self._lock:
            if self._over:
                raise GaveUpError
            self._break_off = break_off

    def check(self) -> None:
        """Raise GaveUpError where nobody waits any more: before what cannot be undone."""
        with self._lock:
            if self._over:
                raise GaveUpError

    def end(self) -> None:
        with self._lock:
            self._over = True
            break_off, self._break_off = self._break_off, None
        if break_off is not None:
            break_off()


def within(seconds: float, call: Callable[[Deadline], Result]) -> Result:
    """Make the call in a thread of its own, and wait for so long at most.

    A thread, as no timeout of a driver covers all there is to wait for: libpq's does not cover the look-up of a name,
    and none covers a server that is frozen while the connection stands. A thread that hangs on ends with the process.

    Raises:
        GaveUpError: it took longer.
        Exception: what the call raised.
    """
    deadline, done = Deadline(), threading.Event()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call(deadline))
        except BaseException as error:  # handed to the caller, where it is raised
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="tfperf-history", daemon=True).start()
    try:
        in_time = done.wait(seconds)
    except BaseException:  # Ctrl-C
        deadline.end()
        raise
    if not in_time:
        deadline.end()
        raise GaveUpError
    if errors:
        raise errors[0]
    return results[0]
