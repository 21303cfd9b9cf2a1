"""Which task to blame when several fail, and the error that says so."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIGTRAP

from pytest_tfperf.cluster.messages import TaskRaised
from pytest_tfperf.cluster.process import NOT_SET_UP, describe_exit
from pytest_tfperf.errors import (
    ClusterError,
    ClusterTimeoutError,
    TaskDiedError,
    TaskFailedError,
    TaskState,
    UsageError,
)
from pytest_tfperf.records.task import TaskId

_TRACEBACK_LINES = 40
_HEADLINE = 1000
"""Characters of an exception's text that are shown in the first line."""

# What TensorFlow raises in a task whose peer has gone.
_COLLATERAL = (
    "UnavailableError",
    "PSUnavailableError",
    "ClosureInputError",
    "ClosureAbortedError",
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "InternalError",
    "UnknownError",
    "FailedPreconditionError",
)

_OF_THE_MACHINE = ("ResourceExhaustedError", "UnavailableError")
"""Errors of TensorFlow's that have their cause outside of it."""


@dataclass(frozen=True)
class Fault:
    """How one task failed: it ended (`code`) or its function raised."""

    task: TaskId
    code: int | None = None
    raised: TaskRaised | None = None
    finished: bool = False
    """True where it had given its result before it ended."""


def shown_below(error: BaseException, message: str) -> str:
    """What a `TaskRaised` has below the first line of its `message`: the traceback.

    A UsageError says what is wrong and what to write instead: a traceback through this package would only hide that. Of
    its text there is what the first line cannot hold.
    """
    if not isinstance(error, UsageError):
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    text = message.strip()
    return text if "\n" in text or len(text) > _HEADLINE else ""


def certain(fault: Fault) -> bool:
    """True where the fault cannot be another task's doing, so that nothing is to be waited for."""
    return _rank(fault) == 0


def collateral(fault: Fault) -> bool:
    """True where it is what a task of a job dies of when another one is lost."""
    return _rank(fault) >= 2


def first_cause(faults: Sequence[Fault]) -> Fault:
    """The fault that most likely caused the others; `faults` are in the order in which they were seen.

    A task killed from outside comes before all. TensorFlow's abort comes late, for it may have lost a peer, and its
    runtime errors last: they are what the other tasks of a job die of, however a peer was lost.
    """
    return min(faults, key=_rank)  # min() keeps the earliest of equals


def _rank(fault: Fault) -> int:
    if fault.code is not None:
        if fault.code == -SIGABRT:
            return 2
        return 0 if fault.code < 0 else 1
    assert fault.raised is not None
    return 3 if fault.raised.type.rpartition(".")[2] in _COLLATERAL else 1


def fault_error(fault: Fault, phase: str, states: Sequence[TaskState]) -> ClusterError:
    """The error for a fault; its first line names the task, what happened and the phase."""
    during = f"in phase {phase!r}"
    if fault.code is not None:
        # A test's own sys.exit() may use that code too.
        set_up = fault.code != NOT_SET_UP or phase == "starting"
        advice = _ADVICE.get(fault.code, "") if set_up else ""
        when = "after it had given its result" if fault.finished else "before it gave its result"
        died = TaskDiedError(
            f"{fault.task} ended {when}: {describe_exit(fault.code)}, {during}.{advice}", tuple(states)
        )
        died.within_tensorflow = -fault.code in _CRASHES
        return died
    raised = fault.raised
    assert raised is not None
    if not raised.type:
        return TaskFailedError(f"{fault.task} ran its function, but {raised.message}", tuple(states))
    headline = raised.message.strip().splitlines()
    summary = f"{fault.task} raised {raised.type}: {headline[0][:_HEADLINE] if headline else ''} ({during})"
    if raised.traceback:
        lines = raised.traceback.rstrip().splitlines()
        if len(lines) > _TRACEBACK_LINES:
            lines = [*lines[:3], "  ...", *lines[3 - _TRACEBACK_LINES :]]
        summary = "\n".join([summary, *(f"  | {line}" for line in lines)])
    error = TaskFailedError(summary, tuple(states))
    error.within_tensorflow = raised.type.startswith("tensorflow.") and not raised.type.endswith(_OF_THE_MACHINE)
    if raised.error is not None:
        error.__cause__ = pickle.loads(raised.error)
    return error


def held_error(held: Mapping[TaskId, str], phases: Mapping[TaskId, str], states: Sequence[TaskState]) -> ClusterError:
    """The error for tasks that cannot run, and that TensorFlow in the others gave up before the deadline."""
    named = ", ".join(f"{id} (in phase {phases[id]!r}, {why})" for id, why in held.items())
    return ClusterTimeoutError(f"{named} no longer answers the other tasks. {_HELD}", tuple(states))


def timeout_error(
    culprits: Sequence[TaskId],
    held: Mapping[TaskId, str],
    phases: Mapping[TaskId, str],
    seconds: float,
    states: Sequence[TaskState],
    *,
    starting: bool = False,
) -> ClusterTimeoutError:
    """The error for a deadline that has passed: `culprits` as `culprits_of` gives them, `held` as it takes it."""
    named = ", ".join(f"{id} (in phase {phases[id]!r}{', ' + held[id] if id in held else ''})" for id in culprits[:4])
    if len(culprits) > 4:
        named += f" and {len(culprits) - 4} more"
    if any(id in held for id in culprits):
        what, advice = "not ready" if starting else "not finished", _HELD
    elif starting:
        what, advice = "not ready", "If the machine is only slow, give it a longer start_timeout."
    else:
        what = "not finished"
        advice = "The stacks at the end of the logs show where; if it is only slow, give it a longer timeout."
    return ClusterTimeoutError(f"{named} {what} within the deadline of {seconds:g} s. {advice}", tuple(states))


def culprits_of(late: Sequence[TaskId], waits: Mapping[TaskId, str], held: Mapping[TaskId, str]) -> list[TaskId]:
    """Of tasks that are late, those that the others wait for, as far as can be known.

    They are those that cannot run at all (`held`); where there are none, those that do not wait for another task.
    """
    return [id for id in late if id in held] or [id for id in late if id not in waits] or list(late)


_HELD = "Something stopped it: it was not slow by itself."
_CRASHES = frozenset({SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP})
_ADVICE = {
    -SIGABRT: " Native code gave up: the end of its log says why, for instance std::bad_alloc where memory ran out.",
    -SIGKILL: " If nobody killed it, the kernel has for want of memory: see dmesg.",
    -SIGSEGV: " It crashed in native code: the end of its log has the Python stack.",
    NOT_SET_UP: " Its process could not be set up: the end of its log says why.",
}
