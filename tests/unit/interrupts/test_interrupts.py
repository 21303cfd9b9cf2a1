"""Signals wait while something is cleared up, and SIGTERM ends a session as Ctrl-C does: really sent to this one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.interrupts import EndedBySignal, Ending, uninterrupted
from pytest_tfperf.session import PerfSession
from tests.unit.fakes import Lines


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Those of a Python program that was started in the foreground; afterwards what there was."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in numbers[1:]:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_ctrl_c_waits_for_the_end_of_the_block() -> None:
    done = False

    def clear_up() -> None:
        nonlocal done
        with uninterrupted():
            send(signal.SIGINT)
            send(signal.SIGINT)
            done = True

    with pytest.raises(KeyboardInterrupt):
        clear_up()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_comes_to_nothing_where_nothing_else_is_left_to_end() -> None:
    with uninterrupted(drop=True):
        send(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_within_blocks() -> None:
    steps = []

    def clear_up() -> None:
        with uninterrupted():
            with uninterrupted():
                send(signal.SIGINT)
                steps.append("inner")
            steps.append("outer")

    with pytest.raises(KeyboardInterrupt):
        clear_up()
    assert steps == ["inner", "outer"]


def test_an_error_of_the_block_is_not_lost() -> None:
    def fail() -> None:
        with uninterrupted():
            send(signal.SIGINT)
            raise ValueError("of the block")

    with pytest.raises(KeyboardInterrupt) as caught:
        fail()
    assert isinstance(caught.value.__context__, ValueError)


def test_a_signal_between_the_first_handler_and_the_last_leaves_ctrl_c_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ending = Ending()
    ending.begin()
    replace = signal.signal

    def replaced(number: int, handler: Any) -> Any:
        before = replace(number, handler)
        if number == signal.SIGINT and signal.getsignal(signal.SIGTERM) == ending._raise:
            monkeypatch.undo()
            send(signal.SIGTERM)
        return before

    monkeypatch.setattr(signal, "signal", replaced)
    with pytest.raises(EndedBySignal), uninterrupted():
        pytest.fail("the block is not for a session that has ended")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ending.end()


def test_all_that_came_are_handled_though_the_first_raises() -> None:
    ending = Ending()
    ending.begin()

    def clear_up() -> None:
        with uninterrupted():
            send(signal.SIGINT)
            send(signal.SIGTERM)

    with pytest.raises(EndedBySignal) as caught:
        clear_up()
    assert isinstance(caught.value.__context__, KeyboardInterrupt)
    ending.end()


def test_a_session_that_is_closed_leaves_sigterm_as_it_found_it(tmp_path: Path) -> None:
    session = PerfSession(PerfConfig(root=tmp_path, baselines=tmp_path), Lines())
    session.begin()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    session.close()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_a_signal_that_is_ignored_or_would_kill_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        send(signal.SIGINT)


def test_in_a_thread_nothing_is_touched() -> None:
    seen = []

    def look() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))
        Ending().begin()
        seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, signal.SIG_DFL]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_session_is_ended_as_by_ctrl_c(number: signal.Signals) -> None:
    ending = Ending()
    ending.begin()
    ending.begin()
    with pytest.raises(EndedBySignal, match=f"{number.name} has ended the session"):
        send(number)
    ending.end()
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_handler_of_somebody_else_stays() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ending = Ending()
    ending.begin()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ending.end()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_child_that_a_test_forks_dies_of_it_as_ever() -> None:
    ending = Ending()
    ending.begin()
    child = os.fork()
    if child == 0:
        try:
            send(signal.SIGTERM)
        finally:
            os._exit(0)
    ending.end()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
