"""Every error the plugin raises: what happened, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


class TfPerfError(Exception):
    """Base of all errors of this package; its text is meant to be read by a person."""


class UsageError(TfPerfError):
    """A marker, option or argument is wrong. Nothing was measured."""


class TensorFlowMissingError(TfPerfError):
    """TensorFlow is not installed in the interpreter that runs the tests."""

    def __init__(self) -> None:
        super().__init__(
            "TensorFlow is not installed here, and measuring needs it: "
            "pip install 'pytest-tfperf[cpu]', or 'pytest-tfperf[gpu]' on a machine with NVIDIA GPUs."
        )


class MeasurementError(TfPerfError):
    """The processes ran, but what they did cannot be used as a measurement (never a verdict)."""


class OtherSideError(TfPerfError):
    """The other revision of a comparison could not be started, or could not measure (never a verdict)."""


class BaselineError(TfPerfError):
    """A baseline file cannot be read or written."""


class ReportError(TfPerfError):
    """A report cannot be read or written."""


@dataclass(frozen=True)
class TaskState:
    """What was known of one task when its cluster failed."""

    task: str
    state: str
    """For instance ``killed by SIGKILL``, ``exit code 3``, ``running``, ``finished``."""
    phase: str
    """What the task said it was doing last, for instance ``warm-up``."""
    log_tail: str = ""


class ClusterError(TfPerfError):
    """A cluster fault: an error of the set-up or of the machine, never a regression."""

    within_tensorflow = False
    """True where TensorFlow raised it, or native code crashed: what compiled programs can be the cause of."""

    def __init__(self, summary: str, tasks: tuple[TaskState, ...] = ()) -> None:
        self.summary = summary
        self.tasks = tasks
        super().__init__(summary, tasks)

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  {task.task}: {task.state}, last phase: {task.phase}" for task in self.tasks]
        for task in self.tasks:
            if task.log_tail:
                lines.append(f"--- end of the log of {task.task} ---")
                lines.append(task.log_tail.rstrip("\n"))
        return "\n".join(lines)


class ClusterStartError(ClusterError):
    """The cluster's processes could not be started, or its ports were taken again and again."""


class TaskDiedError(ClusterError):
    """A task's process ended by itself: before it gave its result, or after it."""


class TaskFailedError(ClusterError):
    """The function that a task ran raised an exception."""


class ClusterTimeoutError(ClusterError):
    """Some task did not finish, or did not connect, within the deadline."""


class RegressionFailure(AssertionError):
    """A test's arm is under its floor or slower than its baseline; `view` has the table for writers."""

    def __init__(self, text: str, view: object) -> None:
        super().__init__(text)
        self.view = view
