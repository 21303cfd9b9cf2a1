"""Who is to blame, and how it is said."""

from __future__ import annotations

import pickle

import pytest

from pytest_tfperf.cluster.faults import (
    Fault,
    certain,
    collateral,
    culprits_of,
    fault_error,
    first_cause,
    held_error,
    shown_below,
    timeout_error,
)
from pytest_tfperf.cluster.messages import TaskRaised
from pytest_tfperf.cluster.process import NOT_SET_UP
from pytest_tfperf.errors import MeasurementError, TaskDiedError, TaskFailedError, UsageError
from pytest_tfperf.records.task import TaskId

A, B, C = (TaskId("worker", index) for index in range(3))


def _raised(kind: str, message: str = "text", traceback: str = "", error: bytes | None = None) -> TaskRaised:
    return TaskRaised(kind, message, traceback, error)


LOST = Fault(B, raised=_raised("tensorflow.python.framework.errors_impl.UnavailableError"))
SERVER_LOST = Fault(
    B, raised=_raised("tensorflow.python.distribute.coordinator.cluster_coordinator.PSUnavailableError")
)
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
        ([LOST, ABORTED], ABORTED),
        ([SERVER_LOST, LEFT], LEFT),
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


def test_an_end_after_the_result_is_told_as_such() -> None:
    died = fault_error(Fault(A, code=-11, finished=True), "own pace", ())
    assert str(died).startswith("worker:0 ended after it had given its result: killed by SIGSEGV, in phase 'own pace'.")


def test_only_a_process_that_is_starting_can_fail_to_be_set_up() -> None:
    assert "could not be set up" in str(fault_error(Fault(A, code=NOT_SET_UP), "starting", ()))
    left = fault_error(Fault(A, code=NOT_SET_UP), "running", ())
    assert str(left) == f"worker:0 ended before it gave its result: exit code {NOT_SET_UP}, in phase 'running'."


def test_a_long_text_of_an_exception_is_cut() -> None:
    error = fault_error(Fault(A, raised=_raised("ValueError", "x" * 100_000)), "build", ())
    assert len(str(error)) < 2000
    assert str(error).endswith("(in phase 'build')")


@pytest.mark.parametrize(
    ("fault", "is_so"),
    [
        (Fault(A, code=-11), True),
        (Fault(A, code=-6), True),
        (Fault(A, code=-9), False),
        (Fault(A, code=0), False),
        (BUG, False),
        (Fault(A, raised=_raised("tensorflow.python.framework.errors_impl.InternalError")), True),
        (Fault(A, raised=_raised("tensorflow.python.framework.errors_impl.ResourceExhaustedError")), False),
        (LOST, False),
    ],
)
def test_what_compiled_programs_can_be_the_cause_of(fault: Fault, is_so: bool) -> None:
    error = fault_error(fault, "first step", ())
    assert error.within_tensorflow == is_so
    assert pickle.loads(pickle.dumps(error)).within_tensorflow == is_so


def _caught(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def _told(error: Exception) -> str:
    caught = _caught(error)
    return str(fault_error(Fault(A, raised=_raised("E", str(caught), shown_below(caught, str(caught)))), "build", ()))


def test_a_usage_error_is_one_line_and_any_other_has_its_traceback() -> None:
    assert _told(UsageError("width is 8.")) == "worker:0 raised E: width is 8. (in phase 'build')"
    for error in (ValueError("width is 8."), MeasurementError("no steady state")):
        _, *below = _told(error).splitlines()
        assert below[0] == "  | Traceback (most recent call last):"
        assert below[-1].endswith(f"{type(error).__name__}: {error}")


@pytest.mark.parametrize("text", ["first\nand second", "x" * 1500])
def test_no_text_of_a_usage_error_is_lost(text: str) -> None:
    _, *below = _told(UsageError(text)).splitlines()
    assert below == [f"  | {line}" for line in text.splitlines()]


def test_an_own_error_is_the_cause() -> None:
    payload = pickle.dumps(MeasurementError("no steady state"))
    error = fault_error(Fault(A, raised=_raised("MeasurementError", error=payload)), "x", ())
    assert isinstance(error, TaskFailedError)
    assert isinstance(error.__cause__, MeasurementError)


def test_a_task_that_others_gave_up_since_it_cannot_run() -> None:
    error = held_error({B: "stopped by a signal"}, {A: "train", B: "build"}, ())
    assert str(error).startswith("worker:1 (in phase 'build', stopped by a signal) no longer answers the other tasks.")
    assert [collateral(fault) for fault in (LOST, ABORTED, KILLED, LEFT, BUG)] == [True, True, False, False, False]


def test_a_timeout_names_those_that_do_not_wait_for_others() -> None:
    phases = {A: "train", B: "train", C: "build"}
    waits = {A: "waiting", B: "waiting"}
    assert str(timeout_error(culprits_of([A, B, C], waits, {}), {}, phases, 2.5, ())).startswith(
        "worker:2 (in phase 'build') not finished within the deadline of 2.5 s."
    )
    assert str(timeout_error(culprits_of([A, B], waits, {}), {}, phases, 2.5, ())).startswith(
        "worker:0 (in phase 'train'), worker:1"
    )


@pytest.mark.parametrize("starting", [False, True])
def test_a_timeout_names_those_that_cannot_run_before_all_others(starting: bool) -> None:
    phases = {A: "train", B: "train", C: "build"}
    held = {B: "stopped by a signal"}
    culprits = culprits_of([A, B, C], {A: "waiting"}, held)
    error = timeout_error(culprits, held, phases, 2.5, (), starting=starting)
    what = "ready" if starting else "finished"
    said = (
        f"worker:1 (in phase 'train', stopped by a signal) not {what} within the deadline of 2.5 s. Something stopped"
    )
    assert str(error).startswith(said)
