"""How many CPU cores this process may really use, and which ones they are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from pytest_tfperf.measurement.host import busy_seconds, hyperthreads

_LOOK_SECONDS = 0.2


def allowed_cores() -> tuple[int, ...]:
    """Numbers of the cores that this process may run on; () where the system has no affinity (macOS)."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def usable_cores(filesystem: Path = Path("/"), allowed: int | None = None) -> int:
    """Count the cores of this process's affinity, less where a container's CPU quota keeps fewer running.

    On more of them ranks would use the quota up and then all stand still until the next period.

    Args:
        filesystem: Where ``proc`` and ``sys`` are looked for.
        allowed: Cores of the affinity, if not this process's.

    """
    if allowed is None:
        allowed = len(allowed_cores()) or os.cpu_count() or 1
    quota = cpu_quota(filesystem)
    return allowed if quota is None else max(1, min(allowed, int(quota + 1e-9)))


def measuring_cores(filesystem: Path = Path("/")) -> tuple[int, ...]:
    """Numbers of the cores to measure on: the first of those of this process, as many as are usable.

    () where the system has no affinity.
    """
    allowed = allowed_cores()
    return allowed[: usable_cores(filesystem, len(allowed))]


def physical_cores(cores: Iterable[int], filesystem: Path = Path("/")) -> int:
    """Count what is behind these cores: two hyperthreads of one core share its execution units, and hardly scale."""
    return len({min({core} | hyperthreads(filesystem, core)) for core in cores})


def quiet_cores(
    cores: Sequence[int], filesystem: Path = Path("/"), sleep: Callable[[float], None] = time.sleep
) -> tuple[int, ...]:
    """As many cores as these, which are the first of this process: where a quota leaves a choice, the least busy ones.

    Else all containers of a host would measure on its first cores. The others are taken in blocks, which lie on
    hyperthreads and sockets as the first ones do; on a quiet host it is those, each time.
    """
    allowed, count = allowed_cores(), len(cores)
    if not 0 < 2 * count <= len(allowed):
        return tuple(cores)
    blocks = [allowed[start : start + count] for start in range(0, len(allowed) - count + 1, count)]
    before = [busy_seconds(block, filesystem) for block in blocks]
    sleep(_LOOK_SECONDS)
    used = [busy_seconds(block, filesystem) - seconds for block, seconds in zip(blocks, before)]
    # In steps of a fifth: of less the system's clock tells nothing in so short a time.
    steps = [round(5 * seconds / (_LOOK_SECONDS * count)) for seconds in used]
    return blocks[steps.index(min(steps))]


def cpu_quota(filesystem: Path = Path("/")) -> float | None:
    """Cores' worth of time that control groups (version 1 or 2) grant, the tightest on the way up; None: no limit."""
    try:
        lines = (filesystem / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    quotas = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            # "unified": version 2 beside version 1
            roots = [filesystem / "sys/fs/cgroup", filesystem / "sys/fs/cgroup/unified"]
        elif "cpu" in controllers.split(","):
            roots = [filesystem / "sys/fs/cgroup" / controllers, filesystem / "sys/fs/cgroup/cpu"]
        else:
            continue
        # In a container the path may be the host's, of which only the root is mounted here.
        path = PurePosixPath("/", *(part for part in group.split("/") if part not in ("", "..")))
        for root in roots:
            for level in (path, *path.parents):
                quota = _quota(root / level.relative_to("/"))
                if quota is not None:
                    quotas.append(quota)
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    maximum = _read(folder / "cpu.max").split()
    if not maximum:
        maximum = [_read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()]
    try:
        quota, period = (float(word) for word in maximum)
    except ValueError:  # "max": no limit; or nothing there
        return None
    return quota / period if quota > 0 and period > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
