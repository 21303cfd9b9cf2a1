"""Looks at the host: who used its processors, what was swapped, what was waited for. All of it from Linux's /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from pytest_tfperf.records.health import HostLook, HostScope, HostUse, ProcessTime

_TOP = 3
"""Processes of others that are named."""
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the kernel's include/linux/sched.h."""
_TICK = 1.0 / (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100)
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def scope_of(pinned: Iterable[Collection[int] | None], usable: Collection[int], root: Path = Path("/")) -> HostScope:
    """What concerns a run whose tasks have the `pinned` cores (None: any), started by this process.

    A core's other hyperthreads belong to it: what runs there takes half of its execution units.
    """
    given = list(pinned)
    chosen = [cores for cores in given if cores is not None]
    whole = len(chosen) < len(given) or not chosen
    numbers = {core for cores in ([usable] if whole else chosen) for core in cores}
    cores = numbers | {sibling for core in numbers for sibling in hyperthreads(root, core)}
    try:
        load = os.getloadavg()[0]
    except OSError:
        load = None
    return HostScope(os.getpid(), tuple(sorted(cores)), not whole, load)


def busy_seconds(cores: Collection[int], root: Path = Path("/")) -> float:
    """Seconds that programs have used of these cores and their other hyperthreads; 0 where the system does not tell."""
    return _core_times(_text(root / "proc/stat"), scope_of([cores], (), root).cores)[0] or 0.0


def look_at_host(scope: HostScope, root: Path = Path("/")) -> HostLook:
    """Read the counters; what this system does not have is None or missing. Takes about 30 us a process."""
    proc = root / "proc"
    busy, stolen = _core_times(_text(proc / "stat"), scope.cores)
    memory = dict(line.split()[:2] for line in _text(proc / "vmstat").splitlines() if line.startswith("pswp"))
    pages = {key: int(memory[key]) * _PAGE if key in memory else None for key in ("pswpin", "pswpout")}
    stalled = {kind: _stalled(_text(proc / "pressure" / kind)) for kind in ("cpu", "memory", "io")}
    return HostLook(
        time=time.monotonic(),
        busy=busy,
        stolen=stolen,
        processes=_processes(proc),
        swapped_in=pages["pswpin"],
        swapped_out=pages["pswpout"],
        stalled={kind: seconds for kind, seconds in stalled.items() if seconds is not None},
    )


def host_use(scope: HostScope, before: HostLook, after: HostLook) -> HostUse:
    """The difference of two looks."""
    own_ids = _descendants(after.processes, scope.root) | _descendants(before.processes, scope.root)
    used = _used(before.processes, after.processes)
    others = {pid: seconds for pid, seconds in used.items() if pid not in own_ids and not after.processes[pid].kernel}
    names: dict[str, float] = {}
    for pid, seconds in others.items():
        name = after.processes[pid].name
        names[name] = names.get(name, 0.0) + seconds
    top = sorted(((name, seconds) for name, seconds in names.items() if seconds > 0), key=lambda item: -item[1])
    # From within a container's namespace of processes pytest may not be there under this id.
    known = scope.root in after.processes
    return HostUse(
        scope=scope,
        seconds=after.time - before.time,
        own=sum(seconds for pid, seconds in used.items() if pid in own_ids) if known else None,
        seen=sum(others.values()) if known else None,
        top=tuple(top[:_TOP]),
        busy=_difference(before.busy, after.busy),
        stolen=_difference(before.stolen, after.stolen),
        swapped_in=_count(before.swapped_in, after.swapped_in),
        swapped_out=_count(before.swapped_out, after.swapped_out),
        stalled={kind: value - before.stalled[kind] for kind, value in after.stalled.items() if kind in before.stalled},
    )


def is_under(pid: int, ancestor: int, root: Path = Path("/")) -> bool | None:
    """Whether a process is `ancestor` or was started under it; None where there is no such process here."""
    for _ in range(100):
        found = _process(_text(root / "proc" / str(pid) / "stat"))
        if found is None:
            return None
        if pid == ancestor:
            return True
        pid = found.parent
        if pid <= 1:
            return ancestor == pid
    return False


def process_name(pid: int, root: Path = Path("/")) -> str:
    """Name of a process, empty where it cannot be seen from here."""
    return _text(root / "proc" / str(pid) / "comm").strip()


def _used(before: Mapping[int, ProcessTime], after: Mapping[int, ProcessTime]) -> dict[int, float]:
    """Seconds of each process between two looks; one that was not there before used all it has since."""

    def lives(pid: int) -> bool:
        return pid in after and (pid not in before or after[pid].started == before[pid].started)

    used = {
        pid: now.seconds - (before[pid].seconds if pid in before and lives(pid) else 0.0) for pid, now in after.items()
    }
    for pid, process in before.items():
        if not lives(pid):
            # It has ended: whoever waited for it got all its time at once, most of which may lie before these looks.
            heir = process.parent
            while heir in before and not lives(heir):
                heir = before[heir].parent
            if heir in used:
                used[heir] -= process.seconds
    return {pid: max(0.0, seconds) for pid, seconds in used.items()}


def _descendants(processes: Mapping[int, ProcessTime], root: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    found, waiting = set(), [root]
    while waiting:
        pid = waiting.pop()
        if pid in processes and pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def _processes(proc: Path) -> dict[int, ProcessTime]:
    found = {}
    try:
        names = os.listdir(proc)
    except OSError:
        return {}
    for name in names:
        if name.isdigit():
            try:
                # Not `_text`: a server has thousands of processes, and pathlib's own work takes longer than the read.
                descriptor = os.open(f"{proc}/{name}/stat", os.O_RDONLY)
            except OSError:  # it has ended since the folder was listed
                continue
            try:
                process = _process(os.read(descriptor, 4096).decode(errors="replace"))
            except OSError:
                continue
            finally:
                os.close(descriptor)
            if process is not None:
                found[int(name)] = process
    return found


def _process(stat: str) -> ProcessTime | None:
    """Read ``/proc/PID/stat`` (proc(5)); the name in parentheses may hold anything, spaces and parentheses too."""
    head, _, tail = stat.rpartition(")")
    words = tail.split()
    if len(words) < 20:
        return None
    # Children that ended and were waited for count too: a compiler's driver does nothing itself.
    ticks = sum(int(word) for word in words[11:15])
    kernel = bool(int(words[6]) & _KERNEL_THREAD)
    return ProcessTime(head.partition("(")[2], int(words[1]), int(words[19]), ticks * _TICK, kernel)


def _core_times(stat: str, cores: Collection[int]) -> tuple[float | None, float | None]:
    """Seconds of programs, and stolen ones, summed over the cores.

    Interrupts are left out: they are nobody's, and a cluster's own traffic over loopback makes many of them.
    """
    busy = stolen = 0.0
    found = False
    for line in stat.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores and len(words) >= 3:
            user, nice, system = (int(word) for word in words[:3])  # guests are in them already
            busy += (user + nice + system) * _TICK
            stolen += int(words[7]) * _TICK if len(words) > 7 else 0.0
            found = True
    return (busy, stolen) if found else (None, None)


def _stalled(pressure: str) -> float | None:
    """Seconds in which some task waited, of a ``/proc/pressure`` file (Linux's Documentation/accounting/psi.rst)."""
    for line in pressure.splitlines():
        kind, *pairs = line.split()
        values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if kind == "some" and "total" in values:
            return int(values["total"]) / 1e6
    return None


def hyperthreads(root: Path, core: int) -> set[int]:
    """Hyperthreads of a core, from text such as ``0,64`` or ``0-1``; none where the system does not tell."""
    found: set[int] = set()
    text = _text(root / f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").strip()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def _count(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
