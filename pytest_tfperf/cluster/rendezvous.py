"""Where tasks wait for each other: which waits are over, and which can never be. Knows no process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pytest_tfperf.records.task import TaskId

V = TypeVar("V")
_Key = tuple[str, frozenset[TaskId]]


@dataclass
class _Point(Generic[V]):
    values: dict[TaskId, V] = field(default_factory=dict)


class Rendezvous(Generic[V]):
    """The exchanges and the release of one run of a cluster."""

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        self._running = set(tasks)
        self._points: dict[_Key, _Point[V]] = {}
        self._awaiting: set[TaskId] = set()
        self._released = False

    def arrive(self, task: TaskId, name: str, among: Iterable[TaskId], value: V) -> dict[TaskId, V] | None:
        """A task has come to an exchange: every value if it was the last, else None."""
        key = name, frozenset(among)
        point = self._points.setdefault(key, _Point())
        point.values[task] = value
        if set(point.values) != key[1]:
            return None
        del self._points[key]
        return point.values

    def await_release(self, task: TaskId) -> None:
        self._awaiting.add(task)

    def finish(self, task: TaskId) -> None:
        """A task has given its result."""
        self._running.discard(task)
        self._awaiting.discard(task)

    def take_released(self) -> set[TaskId]:
        """Tasks whose wait for release is over now; each is told once."""
        if self._awaiting == self._running:
            self._released = True
        if not self._released:
            return set()
        released, self._awaiting = self._awaiting, set()
        return released

    def waits(self) -> dict[TaskId, str]:
        """What each task that waits here waits for, for a person."""
        waits = dict.fromkeys(self._awaiting, "waiting for release")
        for (name, among), point in self._points.items():
            missing = ", ".join(str(task) for task in sorted(among - set(point.values)))
            for task in point.values:
                waits[task] = f"waiting in the exchange {name!r} for {missing}"
        return waits

    def stuck(self) -> tuple[TaskId, str] | None:
        """A task whose wait can never end, and why; None while every wait may still end."""
        blocked = {task for point in self._points.values() for task in point.values}
        for (name, among), point in self._points.items():
            missing = sorted(among - set(point.values))
            waiting = min(point.values)
            for task in missing:
                if task not in self._running:
                    return waiting, f"waits in the exchange {name!r} for {task}, which runs no function (any more)"
                if task in self._awaiting:
                    return waiting, f"waits in the exchange {name!r} for {task}, which waits for release"
            if self._running and self._running <= blocked | self._awaiting:
                others = ", ".join(str(task) for task in missing)
                return waiting, f"waits in the exchange {name!r} for {others}, waiting in another exchange"
        return None
