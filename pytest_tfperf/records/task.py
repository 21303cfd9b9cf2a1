"""Tasks of a cluster: who they are, what they are given, and what they can ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True)
class TaskId:
    """One process's role in a cluster, written ``worker:0``."""

    type: str
    index: int

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Read ``worker:0``; raises ValueError for anything else."""
        kind, separator, index = text.partition(":")
        if not kind or not separator:
            raise ValueError(f"{text!r} is not a task; write for instance 'worker:0'")
        return cls(kind, int(index))


@dataclass(frozen=True)
class TaskPlacement:
    """What one task is given of the machine."""

    id: TaskId
    gpus: tuple[str, ...] = ()
    """GPU indices or UUIDs as for CUDA_VISIBLE_DEVICES; empty: no GPU is visible to the task."""
    cores: tuple[int, ...] | None = None
    """CPU cores that the task is pinned to; None: every core that pytest itself may use."""
    host: int = 0
    """Host that the task is on, where the cluster's hosts are joined by a `Link`."""


@dataclass(frozen=True)
class Layout:
    """The tasks a strategy needs for a number of replicas."""

    workers: int
    ps: int = 0
    chief: bool = False
    replicas_per_worker: int = 1
    chief_trains: bool = True
    """False where the chief only schedules the workers' steps: it needs no GPU, and no cores of its own."""


class Task(Protocol):
    """What a function that runs inside a task gets: its identity and its line to the others."""

    @property
    def id(self) -> TaskId: ...

    @property
    def cluster(self) -> Mapping[str, Sequence[str]]:
        """Job name to ``host:port`` addresses, as ``tf.train.ClusterSpec`` takes it."""
        ...

    @property
    def gpus(self) -> tuple[str, ...]:
        """GPUs given to this task; inside the task TensorFlow numbers them from 0."""
        ...

    def phase(self, name: str) -> None:
        """Say what the task is doing now; a failure names the last phase, progress shows it."""
        ...

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> dict[TaskId, object]:
        """Wait until every task in `among` has come to the point `name`; give back all values."""
        ...

    def wait_for_release(self) -> None:
        """Block until every task that does not itself wait here has given its result."""
        ...
