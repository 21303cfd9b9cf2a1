"""Signals that end a session: SIGTERM and SIGHUP as Ctrl-C does, and none in the middle of clearing up."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_RAISING = (signal.SIGINT, *_ENDING, signal.SIGALRM)
"""What may raise an exception between any two lines of Python: Ctrl-C, the above, and pytest-timeout's alarm."""


class EndedBySignal(KeyboardInterrupt):
    """What pytest makes of a KeyboardInterrupt is right for these signals too: it reports, clears up, exits with 2."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{signal.Signals(number).name} has ended the session")


class Ending:
    """From `begin` to `end` SIGTERM and SIGHUP end this process in order, unless it ignores or handles them anyway."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._ours: list[signal.Signals] = []

    def begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._raise)
                    self._ours.append(number)

    def end(self) -> None:
        """Give the signals back. Not within `uninterrupted`, which would bring our handlers back at its end."""
        while self._ours:
            number = self._ours.pop()
            if signal.getsignal(number) == self._raise:
                signal.signal(number, signal.SIG_DFL)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:  # forked from the session, for instance by a test: it dies of it as ever
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            return
        raise EndedBySignal(number)


@contextmanager
def uninterrupted(*, drop: bool = False) -> Iterator[None]:
    """Have signals whose handlers may raise wait until the block is done, which must take no longer than seconds.

    They are then handled as they would have been, or not at all with `drop`: for the last thing that a session does.
    """
    if threading.current_thread() is not threading.main_thread():  # no handler runs there
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _RAISING}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in held:  # one of them may raise before its own turn
            signal.signal(number, lambda came_in, _: came.append(came_in))
        yield
    finally:
        try:
            _restore(held)
        finally:
            if not drop:
                _send_again(list(dict.fromkeys(came)))


def _send_again(numbers: list[int]) -> None:
    """Each of them, though the handler of one before it raises."""
    try:
        while numbers:
            signal.raise_signal(numbers.pop(0))
    finally:
        if numbers:
            _send_again(numbers)


def _restore(handlers: dict[signal.Signals, _Handler]) -> None:
    try:
        while handlers:
            number, handler = next(iter(handlers.items()))
            signal.signal(number, handler)
            del handlers[number]
    except BaseException:  # from a handler that is back already
        _restore(handlers)
        raise
