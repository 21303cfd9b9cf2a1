"""How many CPU cores this process may really use, and which ones they are."""

from __future__ import annotations

import math
import os
import platform
import re
from pathlib import Path, PurePosixPath


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Name the processor; the bare architecture where neither Linux nor Python knows more."""
    try:
        found = re.search(r"^model name\s*:\s*(\S.*)$", cpuinfo.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        found = None
    name = found[1] if found else platform.processor() or platform.machine() or "unknown"
    return " ".join(name.split())


def allowed_cores() -> tuple[int, ...]:
    """Numbers of the cores that this process may run on; () where the system has no affinity (macOS)."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def usable_cores(filesystem: Path = Path("/"), allowed: int | None = None) -> int:
    """Count the cores of this process's affinity, less where a container's CPU quota allows less (rounded up).

    Args:
        filesystem: Where ``proc`` and ``sys`` are looked for.
        allowed: Cores of the affinity, if not this process's.

    """
    if allowed is None:
        allowed = len(allowed_cores()) or os.cpu_count() or 1
    quota = cpu_quota(filesystem)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota - 1e-9)))


def measuring_cores(filesystem: Path = Path("/")) -> tuple[int, ...]:
    """Numbers of the cores to measure on: of those of this process, as many as a container's quota keeps running.

    On more of them ranks would use the quota up and then all stand still until the next period. () where the system
    has no affinity.
    """
    allowed, quota = allowed_cores(), cpu_quota(filesystem)
    return allowed if quota is None else allowed[: max(1, int(quota + 1e-9))]


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
