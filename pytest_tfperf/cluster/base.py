"""What every cluster offers, wherever its tasks run, and the small records that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import Task, TaskId, TaskPlacement

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

DEFAULT_START_TIMEOUT = 60.0
"""Seconds that the tasks of a cluster have to come up."""
DEFAULT_RUN_TIMEOUT = 600.0
"""Seconds that one `run` has where the caller names no deadline: nothing here may hang for ever."""

Isolation = Literal["namespace", "host"]
"""Where the tasks' ports live: in a network namespace of their own, or among the machine's ports."""
LauncherKind = Literal["auto", "zygote", "spawn"]
EventKind = Literal["supervisor", "start", "ready", "phase", "finished", "exit"]


class TaskFunction(Protocol[T_co]):
    """What runs in a task: it is called as ``function(task, *args)``."""

    def __call__(self, task: Any, /, *args: Any) -> T_co: ...


@dataclass(frozen=True)
class ClusterEvent:
    """Something that happened in a cluster, for live progress."""

    kind: EventKind
    cluster: int
    """Number of the cluster within its launcher, from 1; 0 for the supervisor."""
    task: TaskId | None
    """None where the event is the whole cluster's."""
    text: str
    """For a phase its name, for an exit how it ended; for a person otherwise."""


OnEvent = Callable[[ClusterEvent], None]


class Results(Mapping[TaskId, T_co]):
    """One result per task, in the order of the tasks; a key is a TaskId or text such as ``"worker:0"``."""

    def __init__(self, values: Mapping[TaskId, T_co]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: TaskId | str) -> T_co:
        return self._values[TaskId.parse(key) if isinstance(key, str) else key]

    def __iter__(self) -> Iterator[TaskId]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            try:
                key = TaskId.parse(key)
            except ValueError:
                return False
        return key in self._values

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}: {value!r}" for key, value in self._values.items())
        return f"Results({inside})"


def one_of(tasks: Sequence[TaskId], wanted: TaskId | str) -> TaskId:
    """The task that is meant; raises UsageError where a cluster of these tasks has no such one."""
    id = TaskId.parse(wanted) if isinstance(wanted, str) else wanted
    if id not in tasks:
        raise UsageError(f"{id} is not in this cluster; it has {', '.join(map(str, tasks))}.")
    return id


class ClusterTask(Task, Protocol):
    """A task as the functions of this room's clusters get it: a `Task` that can serve TensorFlow."""

    @property
    def target(self) -> str:
        """``grpc://host:port`` of this task's TensorFlow server; raises UsageError where none runs."""
        ...

    def start_server(self, config: Any = None) -> Any:
        """Start this task's ``tf.distribute.Server`` (once; later calls give the same one)."""
        ...

    def serve(self, config: Any = None) -> None:
        """Start the server and wait for release: all that a parameter server does."""
        ...


class Cluster(Protocol):
    """A set of tasks that run functions together."""

    @property
    def tasks(self) -> tuple[TaskId, ...]: ...

    @property
    def placements(self) -> tuple[TaskPlacement, ...]: ...

    @property
    def addresses(self) -> Mapping[str, Sequence[str]]:
        """Job name to ``host:port`` addresses."""
        ...

    def run(
        self,
        function: TaskFunction[T],
        *args: object,
        timeout: float | None = None,
        tasks: Sequence[TaskId | str] | None = None,
    ) -> Results[T]:
        """Call ``function(task, *args)`` in every task at once (or in `tasks`) and give every result.

        `timeout` is in seconds; None means `DEFAULT_RUN_TIMEOUT`. Raises TaskFailedError, TaskDiedError or
        ClusterTimeoutError as soon as one task raises, ends or is late; the cluster is closed then.
        """
        ...

    def close(self) -> None:
        """End every task. Safe to call again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
