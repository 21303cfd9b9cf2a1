"""What went on at a machine's processors and GPUs during a run. A fact that the system does not tell is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostScope:
    """What of the host concerns a run."""

    root: int
    """Process id of pytest: it and all under it are the run's own."""
    cores: tuple[int, ...]
    """Processors on which the run computes; empty where the system does not number them."""
    pinned: bool
    """True where every task is pinned to some of `cores`; False where the scheduler finds them an idle one."""
    load: float | None = None
    """Mean number of running and waiting threads over the minute before the run."""


@dataclass(frozen=True)
class ProcessTime:
    """Processor time that a process, and the children it waited for, have used so far."""

    name: str
    parent: int
    started: int
    """Clock ticks since boot, which tell it from a later process with the same id."""
    seconds: float
    kernel: bool = False
    """True for a thread of the kernel."""


@dataclass(frozen=True)
class HostLook:
    """Counters of the host at one moment; seconds since boot unless said otherwise."""

    time: float
    """Monotonic seconds."""
    busy: float | None
    """Processor seconds of all programs on the scope's cores."""
    stolen: float | None
    """Seconds in which those cores would have run and the virtual machine's host ran something else."""
    processes: Mapping[int, ProcessTime]
    """Every process that can be seen, by id."""
    swapped_in: int | None = None
    """Bytes read back from swap."""
    swapped_out: int | None = None
    stalled: Mapping[str, float] = field(default_factory=dict)
    """Seconds in which some task of the machine waited for a resource, ``cpu``, ``memory`` or ``io``."""


@dataclass(frozen=True)
class HostUse:
    """What the host did while a run's timed windows were measured: the difference of two looks."""

    scope: HostScope
    seconds: float
    own: float | None
    """Processor seconds of pytest and all under it."""
    seen: float | None
    """Processor seconds of all other programs that can be seen, on whatever core."""
    top: tuple[tuple[str, float], ...]
    """Those of them that used most: name and processor seconds."""
    busy: float | None
    stolen: float | None
    swapped_in: int | None
    swapped_out: int | None
    stalled: Mapping[str, float]


@dataclass(frozen=True)
class GpuState:
    """What the driver says of a GPU at one moment: counters since it was loaded, and settings."""

    uuid: str
    name: str
    power_limit: float | None = None
    """Watts."""
    default_power_limit: float | None = None
    corrected_errors: int | None = None
    """ECC errors in memory and caches since the driver was loaded."""
    uncorrected_errors: int | None = None
    remap_pending: bool | None = None
    """True where a row of memory is to be replaced at the next reset."""
    processes: tuple[int, ...] | None = None
    """Ids of the processes that compute on it; those of the host where a container sees them at all."""


@dataclass(frozen=True)
class GpuSample:
    """What a GPU was doing at one moment."""

    time: float
    """Monotonic seconds."""
    clock: float | None
    """Clock of its multiprocessors, MHz."""
    reasons: int | None
    """NVML's bits for why that clock is not higher."""
    thermal: float | None
    """Seconds since the driver was loaded in which heat kept the clock down."""
    board: float | None
    """The same of a limit of the board."""


@dataclass(frozen=True)
class GpuUse:
    """A GPU before and after a run, and sampled during it."""

    number: int
    """Its place among the GPUs that the session may use."""
    tasks: tuple[str, ...]
    """Names of the tasks that had it."""
    before: GpuState
    after: GpuState
    samples: tuple[GpuSample, ...]
    foreign: Mapping[int, str] = field(default_factory=dict)
    """Processes of others that computed on it: id and name, ``a process`` where the name cannot be known."""

    @property
    def label(self) -> str:
        return f"GPU {self.number} ({self.before.name})"
