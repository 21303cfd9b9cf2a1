"""Who is to blame, and how it is said."""

from __future__ import annotations

import pickle

import pytest

from pytest_tfperf.cluster.faults import Fault, certain, fault_error, first_cause, timeout_error
from pytest_tfperf.cluster.messages import TaskRaised
from pytest_tfperf.errors import MeasurementError, TaskDiedError, TaskFailedError
from pytest_tfperf.records.task import TaskId

A, B, C = (TaskId("worker", index) for index in range(3))


def _raised(kind: str, message: str = "text", traceback: str = "", error: bytes | None = None) -> TaskRaised:
    return TaskRaised(kind, message, traceback, error)


LOST = Fault(B, raised=_raised("tensorflow.python.framework.errors_impl.UnavailableError"))
ABORTED = Fault(C, code=-6)
KILLED = Fault(A, code=-9)
LEFT = Fault(A, code=3)
BUG = Fault(A, raised=_raised("ValueError"))


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        ([LOST, KILLED], KILLED),
        ([LOST, ABORTED, LEFT], LEFT),
        ([ABORTED, BUG], BUG),
        ([BUG, LEFT], BUG),
        ([LEFT, BUG], LEFT),
        ([LOST, ABORTED], LOST),
    ],
)
def test_first_cause(seen: list[Fault], cause: Fault) -> None:
    assert first_cause(seen) is cause


def test_only_a_signal_from_outside_is_certain() -> None:
    assert certain(KILLED)
    assert not any(map(certain, (LOST, ABORTED, LEFT, BUG)))


def test_words() -> None:
    died = fault_error(KILLED, "train", ())
    assert isinstance(died, TaskDiedError)
    assert str(died).startswith("worker:0 ended before it gave its result: killed by SIGKILL, in phase 'train'.")
    assert "memory" in str(died)
    failed = fault_error(Fault(A, raised=_raised("ValueError", "a\nb", "line 1\nline 2\n")), "build", ())
    assert str(failed) == "worker:0 raised ValueError: a (in phase 'build')\n  | line 1\n  | line 2"
    long = fault_error(Fault(A, raised=_raised("E", "", "\n".join(map(str, range(500))))), "build", ())
    assert len(str(long).splitlines()) < 50
    assert str(long).endswith("| 499")


def test_an_own_error_is_the_cause() -> None:
    payload = pickle.dumps(MeasurementError("no steady state"))
    error = fault_error(Fault(A, raised=_raised("MeasurementError", error=payload)), "x", ())
    assert isinstance(error, TaskFailedError)
    assert isinstance(error.__cause__, MeasurementError)


def test_a_timeout_names_those_that_do_not_wait_for_others() -> None:
    phases = {A: "train", B: "train", C: "build"}
    waits = {A: "waiting", B: "waiting"}
    assert str(timeout_error([A, B, C], waits, phases, 2.5, ())).startswith(
        "worker:2 (in phase 'build') not finished within the deadline of 2.5 s."
    )
    assert str(timeout_error([A, B], waits, phases, 2.5, ())).startswith("worker:0 (in phase 'train'), worker:1")
