"""Counts what a session has of the machine at one moment: memory, descriptors, processes, files, ports and so on.

Every process that a session starts is found by a variable in the environment that it began with, whoever its parent is
by now. What belongs to no process (shared memory, semaphores) is counted in namespaces of the soak's own, where the
kernel gives them: other programs of the machine then count nowhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_tfperf.cluster import namespace

MARK = "TFPERF_SOAK"
"""Variable that marks the processes of one soak."""
PATIENCE = 10.0
"""Seconds to wait for what is about to end, after the last cluster and after every session."""
_NEW_MOUNTS, _NEW_IPC = 0x20000, 0x08000000
_PRIVATE_RECURSIVE = (1 << 18) | (1 << 14)


@dataclass
class Census:
    """What there is, by name: what may not grow by one, and sizes, which waver."""

    counts: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    """In MiB."""
    seen: dict[str, list[str]] = field(default_factory=dict)
    """What some of the counts consist of, to find the cause of a growth."""


def alone() -> bool:
    """Move this process into namespaces of its own for network, IPC and mounts; False where the kernel gives none.

    To be called before any thread is started.
    """
    if not namespace.available():
        return False
    try:
        namespace.enter()
    except OSError:  # of a process that has threads, whoever is not root
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS | _NEW_IPC) != 0:
        return False
    libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_RECURSIVE), None)
    return bool(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), None) == 0)


def marked(mark: str) -> list[int]:
    """Process ids of this soak's other processes, zombies included."""
    wanted = f"{MARK}={mark}".encode()
    found, parents = set(), {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in found | {os.getpid()}} - found:
        found |= more
    return sorted(found - {os.getpid()})


def still_there(mark: str, patience: float) -> list[int]:
    """Those that have not ended by themselves within so many seconds."""
    deadline = time.monotonic() + patience
    while (found := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def take(mark: str, folders: dict[str, Path], supervisor: int | None, *, isolated: bool) -> Census:
    """`folders`: whose files count, by name."""
    census = Census()
    others = marked(mark)
    for role, pid in (("pytest", os.getpid()), ("supervisor", supervisor)):
        if pid is not None:
            census.counts[f"descriptors of {role}"] = len(_descriptors(pid))
            census.counts[f"threads of {role}"] = len(os.listdir(f"/proc/{pid}/task"))
            census.sizes |= {f"{kind} of {role}": size for kind, size in _memory(pid).items()}
    census.seen["processes"] = [f"{pid} {_command(pid)}" for pid in others]
    census.seen["threads of pytest"] = sorted(thread.name for thread in threading.enumerate())
    census.seen["descriptors of pytest"] = sorted(_descriptors(os.getpid()))
    everyone = [os.getpid(), *others]
    spaces = _namespaces(everyone)
    census.counts["processes"] = len(others)
    census.counts["network namespaces"] = len(spaces)
    sockets = [line for pid in spaces.values() for line in _listening(pid)]
    census.seen["listening ports"] = sockets
    census.counts["listening ports"] = len(sockets)
    census.counts["network devices"] = sum(_lines(f"/proc/{pid}/net/dev", skip=2) for pid in spaces.values())
    for name, folder in folders.items():
        census.seen[f"files in {name}"] = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        census.counts[f"files in {name}"] = len(census.seen[f"files in {name}"])
    if isolated:
        census.counts["entries of /dev/shm"] = len(os.listdir("/dev/shm"))
        for kind, name in (("shm", "shared memories"), ("sem", "semaphores"), ("msg", "message queues")):
            census.counts[f"System V {name}"] = _lines(f"/proc/sysvipc/{kind}", skip=1)
    return census


def _memory(pid: int) -> dict[str, float]:
    """Resident memory, and what of it is the process's own, in MiB.

    Clean pages are left out of the latter: they are shared or not by what else the machine runs.
    """
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    size = {line.partition(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {"RSS": size["Rss"], "own memory": size["Private_Dirty"]}


def _descriptors(pid: int) -> list[str]:
    """What each open descriptor leads to, but for the one that lists them."""
    folder = f"/proc/{pid}/fd"
    found = []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"{folder}/{name}"))
    return found


def _namespaces(pids: Iterable[int]) -> dict[str, int]:
    """A process in each network namespace that has one, and 0 for what is held by a descriptor alone."""
    found: dict[str, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            found.setdefault(os.readlink(f"/proc/{pid}/ns/net"), pid)
    for pid in pids:
        with contextlib.suppress(OSError):
            for target in _descriptors(pid):
                if target.startswith("net:["):
                    found.setdefault(target, 0)
    return found


def _listening(pid: int) -> Iterator[str]:
    for family in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A":
                    yield f"{family} {fields[1]}"


def _lines(path: str, *, skip: int) -> int:
    try:
        return max(0, len(Path(path).read_text().splitlines()) - skip)
    except OSError:
        return 0


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return ""
