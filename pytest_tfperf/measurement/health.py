"""Looks at the machine around a run, and says afterwards what disturbed it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pytest_tfperf.measurement.disturbances import (
    gpu_disturbances,
    gpu_note,
    gpu_outside,
    host_disturbances,
    host_outside,
    lasting_disturbances,
)
from pytest_tfperf.measurement.gpu_watch import GpuWatcher
from pytest_tfperf.measurement.host import host_use, look_at_host, scope_of
from pytest_tfperf.records.health import GpuUse, HostLook, HostScope, HostUse
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.task import TaskPlacement


class Health:
    """What is seen of one run."""

    def __init__(self, scope: HostScope, gpus: list[GpuUse]) -> None:
        self.scope = scope
        """For the task that looks at the host at both ends of its timed windows."""
        self._gpus = gpus

    def disturbances(self, run: Run) -> tuple[str, ...]:
        """What disturbed the run; call it when the watch is over."""
        found = [line for task in run.tasks for line in host_disturbances(task.host)]
        return (*dict.fromkeys(found), *gpu_disturbances(self._gpus, run.start, run.end))

    def outside(self, run: Run) -> tuple[str, ...]:
        """Those of them that what is run has nothing to do with."""
        return (*(line for task in run.tasks for line in host_outside(task.host)), *gpu_outside(self._gpus))

    def lasting(self) -> tuple[str, ...]:
        """Those of them that another run would show again."""
        return lasting_disturbances(self._gpus)

    def notes(self, run: Run) -> Mapping[str, str]:
        """By task, what its GPU's health says of its pace."""
        notes = {}
        for use in self._gpus:
            note = gpu_note(use, self._gpus, run.start, run.end)
            if note:
                notes.update(dict.fromkeys(use.tasks, note))
        return notes


class HealthWatcher:
    """Watches runs, one after the other, for a session."""

    def __init__(self, cores: Sequence[int], gpus: GpuWatcher | None = None) -> None:
        """`cores` are those that pytest may use; empty where they are not numbered."""
        self._cores = cores
        self._gpus = gpus or GpuWatcher(os.getpid())

    @contextmanager
    def watch(self, tasks: Sequence[TaskPlacement], gpus: Sequence[str], *, links: bool) -> Iterator[Health]:
        """Look while the context is open.

        `gpus` are the session's, in the order in which a reader numbers them. With `links`, processes that nobody
        pins carry the traffic.
        """
        pinned = [task.cores for task in tasks]
        scope = scope_of([*pinned, None] if links else pinned, self._cores)
        with self._gpus.watch(tasks, {uuid: number for number, uuid in enumerate(gpus)}) as uses:
            yield Health(scope, uses)

    def close(self) -> None:
        self._gpus.close()


class HostWatch:
    """Inside a task: looks at the host at the beginning and the end of the timed windows, never in between."""

    def __init__(self, scope: HostScope | None) -> None:
        self._scope = scope
        self._before: HostLook | None = None

    def begin(self) -> None:
        if self._scope is not None:
            self._before = look_at_host(self._scope)

    def end(self) -> HostUse | None:
        """None where nothing was asked for."""
        if self._scope is None or self._before is None:
            return None
        return host_use(self._scope, self._before, look_at_host(self._scope))
