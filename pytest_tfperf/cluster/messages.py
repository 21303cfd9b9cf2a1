"""What pytest, the supervisor and the tasks say to each other. Both ends run the same code, so pickles will do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_tfperf.cluster.base import Isolation
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import TaskId

Mode = Literal["fork", "spawn"]


@dataclass(frozen=True)
class TaskSettings:
    """All that makes a process a task."""

    id: TaskId
    addresses: Mapping[str, tuple[str, ...]]
    gpus: tuple[str, ...]
    cores: tuple[int, ...] | None
    environ: Mapping[str, str]
    """The whole environment, TF_CONFIG included."""
    sys_path: tuple[str, ...]
    cwd: str
    preload: tuple[str, ...]
    """Modules that a fresh interpreter imports before it says that it is ready."""
    shares_port: bool
    """True where pytest holds the task's port with SO_REUSEPORT."""
    generated: str
    """Folder for the code that AutoGraph generates."""


# pytest to supervisor


@dataclass(frozen=True)
class Configure:
    """The first request. The supervisor is as if it had been started with these."""

    mode: Mode
    isolation: Literal["auto", "namespace", "host"]
    environ: Mapping[str, str]
    sys_path: tuple[str, ...]
    cwd: str
    preload: tuple[str, ...]
    package_root: str
    inherited_dir: str
    """Folder that the supervisor removes where pytest ended without doing so; empty: none."""


@dataclass(frozen=True)
class PickPorts:
    count: int


@dataclass(frozen=True)
class StartTask:
    """Comes with two file descriptors: the task's end of its channel, and its log.

    A third, where there is one, is of the network namespace that the task is to be in.
    """

    key: int
    settings: TaskSettings


@dataclass(frozen=True)
class StartSwitch:
    """Comes with a file descriptor: the switch's end of its line to pytest."""

    key: int
    """As a task's: the switch's end is told by a TaskExited."""
    link: Link
    hosts: tuple[int, ...]
    sys_path: tuple[str, ...]


@dataclass(frozen=True)
class TryEnvironment:
    """Asks whether TensorFlow compiles in a task whose environment has these variables too."""

    added: Mapping[str, str]
    seconds: float
    """Time that it may take."""


@dataclass(frozen=True)
class SignalTasks:
    keys: tuple[int, ...]
    signal: int
    group: bool
    """True: to everything the task has started; False: to the task's own process only."""


# supervisor to pytest


@dataclass(frozen=True)
class SupervisorReady:
    mode: Mode
    isolation: Isolation
    import_seconds: float
    cannot_fork: str | None
    """Why tasks are spawned although forks were asked for."""


@dataclass(frozen=True)
class SupervisorFailed:
    reason: str
    tensorflow_missing: bool


@dataclass(frozen=True)
class PortsPicked:
    ports: tuple[int, ...]
    """Empty where there are not enough."""


@dataclass(frozen=True)
class EnvironmentTried:
    works: bool


@dataclass(frozen=True)
class TaskStarted:
    key: int
    pid: int


@dataclass(frozen=True)
class TaskExited:
    key: int
    code: int
    """As subprocess.Popen.returncode: negative for a signal."""


# switch to pytest


@dataclass(frozen=True)
class HostReady:
    """One for each host, in order. Comes with a descriptor of the host's network namespace."""

    host: int


@dataclass(frozen=True)
class SwitchFailed:
    reason: str


# pytest to switch


@dataclass(frozen=True)
class Sampling:
    """Begin anew to keep samples. The answer is a None."""

    interval: float | None
    """Seconds between samples; None: keep those of requests only."""


@dataclass(frozen=True)
class ReadTraffic:
    """The answer is a Traffic: every sample since the last Sampling, and one of this moment."""


# task to pytest


@dataclass(frozen=True)
class TaskReady:
    port_is_free: bool


@dataclass(frozen=True)
class PhaseChanged:
    name: str


@dataclass(frozen=True)
class ExchangeArrived:
    name: str
    among: tuple[TaskId, ...]
    payload: bytes


@dataclass(frozen=True)
class AwaitsRelease:
    pass


@dataclass(frozen=True)
class TaskFinished:
    payload: bytes


@dataclass(frozen=True)
class TaskRaised:
    type: str
    message: str
    traceback: str
    """What is shown below the message's first line, see `faults.shown_below`."""
    error: bytes | None
    """The exception itself where it is one of this package's own, so that unpickling needs nothing else."""


# pytest to task


@dataclass(frozen=True)
class RunFunction:
    payload: bytes


@dataclass(frozen=True)
class ExchangeDone:
    payloads: Mapping[TaskId, bytes]


@dataclass(frozen=True)
class Released:
    pass


@dataclass(frozen=True)
class Leave:
    pass
