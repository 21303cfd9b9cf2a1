"""Whoever waits is let go at the deadline, and what comes too late is not done."""

from __future__ import annotations

import threading

import pytest

from pytest_tfperf.history.deadline import Deadline, GaveUpError, within


def test_a_result_and_an_error_come_back() -> None:
    assert within(60.0, lambda deadline: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60.0, lambda deadline: 1 // 0)


def test_what_hangs_is_broken_off_and_commits_nothing() -> None:
    hanging, late, done = threading.Event(), [], threading.Event()

    def call(deadline: Deadline) -> None:
        deadline.on_end(hanging.set)
        hanging.wait()
        try:
            deadline.check()
        except GaveUpError as error:
            late.append(error)
        finally:
            done.set()

    with pytest.raises(GaveUpError):
        within(0.01, call)
    assert done.wait(60)
    assert len(late) == 1


def test_a_connection_that_comes_too_late_is_refused() -> None:
    deadline = Deadline()
    deadline.end()
    with pytest.raises(GaveUpError):
        deadline.on_end(lambda: None)
