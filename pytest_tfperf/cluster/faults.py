"""Which task to blame when several fail, and the error that says so."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import SIGABRT

from pytest_tfperf.cluster.messages import TaskRaised
from pytest_tfperf.cluster.process import NOT_SET_UP, describe_exit
from pytest_tfperf.errors import ClusterError, ClusterTimeoutError, TaskDiedError, TaskFailedError, TaskState
from pytest_tfperf.records.task import TaskId

_TRACEBACK_LINES = 40

# What TensorFlow raises in a task whose peer has gone.
_COLLATERAL = (
    "UnavailableError",
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "InternalError",
    "UnknownError",
    "FailedPreconditionError",
)


@dataclass(frozen=True)
class Fault:
    """How one task failed: it ended (`code`) or its function raised."""

    task: TaskId
    code: int | None = None
    raised: TaskRaised | None = None


def certain(fault: Fault) -> bool:
    """True where the fault cannot be another task's doing, so that nothing is to be waited for."""
    return _rank(fault) == 0


def first_cause(faults: Sequence[Fault]) -> Fault:
    """The fault that most likely caused the others; `faults` are in the order in which they were seen.

    A task killed from outside comes before all. TensorFlow's runtime errors, and its abort when it has lost a peer,
    come last: they are what the other tasks of a job die of.
    """
    return min(faults, key=_rank)  # min() keeps the earliest of equals


def _rank(fault: Fault) -> int:
    if fault.code is not None:
        if fault.code == -SIGABRT:
            return 2
        return 0 if fault.code < 0 else 1
    assert fault.raised is not None
    return 2 if fault.raised.type.rpartition(".")[2] in _COLLATERAL else 1


def fault_error(fault: Fault, phase: str, states: Sequence[TaskState]) -> ClusterError:
    """The error for a fault; its first line names the task, what happened and the phase."""
    during = f"in phase {phase!r}"
    if fault.code is not None:
        advice = _ADVICE.get(fault.code, "")
        return TaskDiedError(
            f"{fault.task} ended before it gave its result: {describe_exit(fault.code)}, {during}.{advice}",
            tuple(states),
        )
    raised = fault.raised
    assert raised is not None
    if not raised.type:
        return TaskFailedError(f"{fault.task} ran its function, but {raised.message}", tuple(states))
    headline = raised.message.strip().splitlines()
    summary = f"{fault.task} raised {raised.type}: {headline[0] if headline else ''} ({during})"
    if raised.traceback:
        lines = raised.traceback.rstrip().splitlines()
        if len(lines) > _TRACEBACK_LINES:
            lines = [*lines[:3], "  ...", *lines[3 - _TRACEBACK_LINES :]]
        summary = "\n".join([summary, *(f"  | {line}" for line in lines)])
    error = TaskFailedError(summary, tuple(states))
    if raised.error is not None:
        error.__cause__ = pickle.loads(raised.error)
    return error


def timeout_error(
    late: Sequence[TaskId],
    waits: Mapping[TaskId, str],
    phases: Mapping[TaskId, str],
    seconds: float,
    states: Sequence[TaskState],
    *,
    starting: bool = False,
) -> ClusterTimeoutError:
    """The error for tasks that are late; it names first those that do not wait for another task."""
    culprits = [id for id in late if id not in waits] or list(late)
    named = ", ".join(f"{id} (in phase {phases[id]!r})" for id in culprits[:4])
    if len(culprits) > 4:
        named += f" and {len(culprits) - 4} more"
    if starting:
        what, advice = "not ready", "If the machine is only slow, give it a longer start_timeout."
    else:
        what = "not finished"
        advice = "The stacks at the end of the logs show where; if it is only slow, give it a longer timeout."
    return ClusterTimeoutError(f"{named} {what} within the deadline of {seconds:g} s. {advice}", tuple(states))


_ADVICE = {
    -9: " If nobody killed it, the kernel has for want of memory: see dmesg.",
    -11: " It crashed in native code: the end of its log has the Python stack.",
    NOT_SET_UP: " Its process could not be set up: the end of its log says why.",
}
