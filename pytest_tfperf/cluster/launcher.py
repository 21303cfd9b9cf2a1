"""Starts clusters of processes for one session, and leaves nothing behind when it is closed."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_tfperf.cluster import spec
from pytest_tfperf.cluster.assembly import await_ready, start_group
from pytest_tfperf.cluster.base import (
    DEFAULT_START_TIMEOUT,
    ClusterEvent,
    EventKind,
    Isolation,
    LauncherKind,
    OnEvent,
)
from pytest_tfperf.cluster.messages import Mode, SupervisorReady
from pytest_tfperf.cluster.multi_process import MultiProcessCluster
from pytest_tfperf.cluster.network import why_no_links
from pytest_tfperf.cluster.nurseries import Nurseries
from pytest_tfperf.cluster.nursery import SupervisorGoneError
from pytest_tfperf.cluster.ports import PortPicker
from pytest_tfperf.cluster.run_folder import RunFolder
from pytest_tfperf.cluster.shortage import start_errors
from pytest_tfperf.cluster.task_group import TaskGroup
from pytest_tfperf.errors import ClusterStartError, UsageError
from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import TaskId, TaskPlacement

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class _Start:
    """What is asked of one start of a cluster, which new ports may take several attempts."""

    number: int
    placements: tuple[TaskPlacement, ...]
    env: Mapping[str, str]
    link: Link | None
    compile_cache: bool


class ClusterLauncher:
    """Owned by a session: one supervisor process, any number of clusters, one private folder for their logs."""

    def __init__(
        self,
        *,
        launcher: LauncherKind = "auto",
        isolation: Literal["auto", "namespace", "host"] = "auto",
        run_dir: Path | None = None,
        keep_logs: bool = False,
        preload: Sequence[str] = ("tensorflow",),
        on_event: OnEvent | None = None,
    ) -> None:
        """Starts no process yet.

        `launcher`: "zygote" forks tasks from a process that has imported `preload`, "spawn" starts an interpreter for
        each; "auto" is the zygote on Linux. `isolation`: "namespace" puts the tasks where no other program reaches
        their ports, "host" among the machine's ports (where tasks need the network); "auto" is the namespace where
        the kernel allows it. The logs' folder is made in `run_dir` (None: the system's folder for temporary files).
        """
        linux = sys.platform.startswith("linux")
        mode: Mode = "fork" if launcher == "zygote" or (launcher == "auto" and linux) else "spawn"
        self._isolation: Literal["auto", "namespace", "host"] = isolation
        self._keep_logs = keep_logs
        self._preload = tuple(preload)
        self._on_event = on_event
        self._folder = RunFolder(run_dir, keep_logs=keep_logs)
        self._nurseries = Nurseries(
            mode,
            isolation,
            self._preload,
            keep_logs=keep_logs,
            directory=self._run_folder,
            told=lambda text: self._event("supervisor", 0, None, text),
        )
        self._cluster_count = itertools.count(1)
        self._clusters: list[MultiProcessCluster] = []
        self._picker = PortPicker()
        self._owner = os.getpid()
        self._closed = False

    @property
    def run_dir(self) -> Path | None:
        """The private folder with the logs; None before the first start."""
        return self._folder.made

    @property
    def isolation(self) -> Isolation | None:
        """Where the tasks' ports live; None until a supervisor is ready."""
        nursery = self._nurseries.current
        return None if nursery is None or nursery.ready is None else nursery.isolation

    @property
    def forks(self) -> bool | None:
        """True where tasks are forked from a zygote; None until a supervisor is ready."""
        ready = self._ready
        return None if ready is None else ready.mode == "fork"

    @property
    def import_seconds(self) -> float | None:
        """Seconds that the zygote's import took; None until a supervisor is ready."""
        ready = self._ready
        return None if ready is None else ready.import_seconds

    @property
    def supervisor_pid(self) -> int | None:
        nursery = self._nurseries.current
        return None if nursery is None else nursery.pid

    def warm_up(self) -> None:
        """Start the supervisor and do not wait: its import runs while pytest does other things.

        Raises ClusterStartError, and UsageError where this launcher is closed or another process's.
        """
        self._check_usable()
        with _is_there():
            self._nurseries.started({})

    def wait_until_warm(self, timeout: float = DEFAULT_START_TIMEOUT) -> None:
        """Wait, at most `timeout` seconds, until the supervisor is ready. Raises as `start` does."""
        self._check_usable()
        with _is_there():
            self._nurseries.ready({}, time.monotonic() + timeout)

    def start(
        self,
        placements: Sequence[TaskPlacement],
        *,
        env: Mapping[str, str] | None = None,
        link: Link | None = None,
        compile_cache: bool = False,
        start_timeout: float = DEFAULT_START_TIMEOUT,
    ) -> MultiProcessCluster:
        """Start a process per placement and give the cluster back once every one is ready.

        With a `link` each host that the placements name has a network namespace of its own, joined to the others by
        such a link; without, all tasks share this machine's loopback, whatever their host. See `links_unavailable`.
        `env` is added to the tasks' environment. With a `compile_cache` XLA keeps what it compiles and tunes in a
        folder of this launcher, where all clusters that it starts with one find it; as far as this TensorFlow can, and
        where no flag of the user says otherwise. `start_timeout` is in seconds and includes TensorFlow's import where
        that is still on. Raises TensorFlowMissingError, ClusterStartError (ports, supervisor), TaskDiedError,
        ClusterTimeoutError, and UsageError for placements that are no cluster.
        """
        if not placements:
            raise UsageError("A cluster needs at least one task.")
        ordered = sorted(placements, key=lambda placement: spec.job_order(placement.id))
        spec.cluster_spec({placement.id: spec.host_address(placement.host) for placement in ordered})
        if len({placement.id for placement in ordered}) < len(ordered):
            raise UsageError("Two of the cluster's tasks have the same id.")
        number = next(self._cluster_count)
        start = _Start(number, tuple(ordered), dict(env or {}), link, compile_cache)
        names = ", ".join(str(placement.id) for placement in ordered)
        self._event("start", number, None, names)
        cluster = MultiProcessCluster(
            lambda: self._launched(start, start_timeout),
            ordered,
            number=number,
            on_event=self._on_event,
            keep_logs=self._keep_logs,
        )
        self._clusters = [one for one in self._clusters if not one.closed] + [cluster]
        return cluster

    def links_unavailable(self) -> str:
        """Why `start` cannot have a link on this machine, found out by trying it once; empty where it can."""
        if self._isolation == "host":
            return "links need network namespaces, and this launcher was told to do without (isolation='host')"
        return why_no_links()

    def close(self) -> None:
        """End every cluster and the supervisor, and remove the logs unless they are to be kept. Safe to call again."""
        if self._closed or os.getpid() != self._owner:  # a process that pytest forked inherits its exit handlers
            return
        with uninterrupted():
            self._closed = True
            atexit.unregister(self.close)
            try:
                for cluster in self._clusters:
                    cluster.close(hard=True)
            finally:
                # First while a supervisor is there, which does it where we are killed, but not once it has to leave.
                self._folder.remove()
                self._nurseries.close()
                self._folder.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def _ready(self) -> SupervisorReady | None:
        nursery = self._nurseries.current
        return None if nursery is None else nursery.ready

    def _launched(self, start: _Start, seconds: float) -> TaskGroup:
        self._check_usable()
        deadline = time.monotonic() + seconds
        with start_errors():
            group = self._launch(start, deadline)
        try:
            await_ready(group, deadline, seconds, lambda id: self._event("ready", start.number, id, ""))
        except BaseException:
            group.close(hard=True, keep_logs=self._keep_logs)
            raise
        return group

    def _launch(self, start: _Start, deadline: float) -> TaskGroup:
        for _ in range(2):
            try:
                nursery = self._nurseries.ready(start.env, deadline)
                if start.link is not None and nursery.isolation != "namespace":
                    reason = self.links_unavailable() or "the tasks' ports are among the machine's"
                    raise ClusterStartError(f"The cluster's hosts cannot be joined by links: {reason}.")
                env = dict(start.env)
                if start.compile_cache:
                    # Not part of what the supervisor is chosen by: it has compiled nothing, so it has read no flag.
                    env |= self._folder.compile_cache().environ({**os.environ, **env}, nursery)
                return start_group(
                    nursery,
                    start.placements,
                    env,
                    start.link,
                    picker=self._picker,
                    preload=self._preload,
                    log_dir=self._run_folder() / f"cluster-{start.number}",
                )
            except SupervisorGoneError as error:  # it was killed since it was last looked at
                gone = error
        raise ClusterStartError(f"The process that starts the tasks has ended twice ({gone}).")

    def _check_usable(self) -> None:
        if self._closed:
            raise UsageError("This launcher is closed.")
        if os.getpid() != self._owner:
            raise UsageError(
                "This process was forked from the one that pytest began in, and that one alone starts clusters: run "
                "these tests without pytest-forked and without whatever else runs tests in processes of their own."
            )

    def _run_folder(self) -> Path:
        if self._folder.made is None:  # from now on there is something to leave behind
            atexit.register(self.close)
        return self._folder.path()

    def _event(self, kind: EventKind, cluster: int, task: TaskId | None, text: str) -> None:
        if self._on_event is not None:
            self._on_event(ClusterEvent(kind, cluster, task, text))


@contextmanager
def _is_there() -> Iterator[None]:
    """Raises ClusterStartError where the supervisor has gone in the block."""
    try:
        yield
    except SupervisorGoneError as error:
        raise ClusterStartError(f"The process that starts the tasks has ended ({error}).") from None
