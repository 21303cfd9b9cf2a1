"""One session of many clusters, with a census after each, and the judgement of them all."""

from __future__ import annotations

import atexit
import gc
import itertools
import json
import os
import resource
import shutil
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from pytest_tfperf.cluster import ClusterLauncher
from tools.soak import census
from tools.soak.census import Census
from tools.soak.control import TIME_BOUND, control, seconds_of
from tools.soak.growth import Growth, judge_count, judge_slope, judge_time
from tools.soak.kinds import KINDS, turns

MIB_BOUND, OBJECTS_BOUND = 1.0, 100.0
"""Largest growth per 100 clusters that is none: 10 KiB and an object a cluster."""
IN_PROCESS_MIB_BOUND, IN_PROCESS_OBJECTS_BOUND = 10.0, 300.0
"""The same for pytest's own process where TensorFlow runs in it: its sessions and threads keep some of what they took,
without this plugin too (`docs/reliability.md`)."""
SIZE_WARM_UP = 0.1
"""Share of the clusters after which sizes count, if that is more than a turn of all kinds, after which counts do: in
them TensorFlow, Python and the allocator take what they keep."""
_SETTLE = 0.3
"""Seconds to wait for threads and sockets that are about to end, between two clusters."""


@dataclass(frozen=True)
class Record:
    """One cluster."""

    index: int
    kind: str
    seconds: float
    processor: float
    """Seconds of processor time that it took in all processes."""
    control: float
    """Seconds that a small program took just before."""
    counts: Mapping[str, int]
    sizes: Mapping[str, float]
    load: float


class Soak:
    """A launcher, and what is counted around it."""

    def __init__(self, launcher: ClusterLauncher, temporary: Path, mark: str, *, isolated: bool) -> None:
        self._launcher = launcher
        self._temporary = temporary
        self._mark = mark
        self._isolated = isolated

    def run(
        self,
        kinds: Sequence[str],
        count: int,
        leaks: Sequence[Callable[[int], None]],
        out: IO[str],
    ) -> None:
        """Start `count` clusters and write a record of each to `out`, for what is kept here would be a growth."""
        first: Census | None = None
        last: Census | None = None
        for index, kind in enumerate(turns(kinds, count)):
            before_it = control()
            before = self._processor()
            seconds = seconds_of(lambda kind=kind, index=index: self._one(kind, index, leaks))  # type: ignore[misc]
            processor = self._processor() - before
            at_end = index == count - 1
            now = self._settled(first if at_end else last, census.PATIENCE if at_end else _SETTLE)
            load = os.getloadavg()[0]
            out.write(
                json.dumps(asdict(Record(index, kind, seconds, processor, before_it, now.counts, now.sizes, load)))
            )
            out.write("\n")
            out.flush()
            if index < len(kinds):
                first = now
            elif last is not None:
                _tell(index, kind, last, now)
            last = now

    def left(self) -> list[Growth]:
        """What is left once the launcher is closed and this process is about to end."""
        atexit._run_exitfuncs()
        processes = [str(pid) for pid in census.still_there(self._mark, census.PATIENCE)]
        files = sorted(str(path.relative_to(self._temporary)) for path in self._temporary.rglob("*"))
        found = {"processes": processes, "files in TMPDIR": files}
        return [
            Growth(f"{name} after the session", "grew" if some else "flat", 0, len(some), ", ".join(some[:5]) or "0")
            for name, some in found.items()
        ]

    def _one(self, kind: str, index: int, leaks: Sequence[Callable[[int], None]]) -> None:
        KINDS[kind](self._launcher)
        for leak in leaks:
            leak(index)

    def _settled(self, before: Census | None, patience: float) -> Census:
        deadline = time.monotonic() + patience
        while True:
            gc.collect()
            now = self._take()
            more = before is not None and any(now.counts[name] > before.counts.get(name, 0) for name in now.counts)
            if not more or time.monotonic() >= deadline:
                return now
            time.sleep(0.05)

    def _take(self) -> Census:
        assert self._launcher.run_dir is not None
        folders = {"the run folder": self._launcher.run_dir, "TMPDIR": self._temporary}
        now = census.take(self._mark, folders, self._launcher.supervisor_pid, isolated=self._isolated)
        now.sizes["objects of pytest"] = len(gc.get_objects())
        return now

    def _processor(self) -> float:
        own = resource.getrusage(resource.RUSAGE_SELF)
        pid = self._launcher.supervisor_pid
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() if pid is not None else []
        supervised = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own, and that of its children
        return own.ru_utime + own.ru_stime + supervised


def soak(
    kinds: Sequence[str],
    count: int,
    out: IO[str],
    *,
    leaks: Sequence[Callable[[int], None]] = (),
    isolated: bool = False,
    preload: Sequence[str] = ("tensorflow",),
) -> list[Growth]:
    """Run it in this process and judge; `out` is an empty file that can be read too.

    Without `preload` tasks are fresh interpreters: for kinds without TensorFlow.
    """
    folder = tempfile.mkdtemp(prefix="soak-")  # a TemporaryDirectory would go with the exit handlers, and all in it
    try:
        # For this process too: the logs, and what in-process clusters write, are in there then.
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.environ[census.MARK] = mark = uuid.uuid4().hex
        with ClusterLauncher(launcher="auto" if preload else "spawn", preload=preload) as launcher:
            launcher.wait_until_warm(300)
            one = Soak(launcher, Path(folder), mark, isolated=isolated)
            one.run(kinds, count, leaks, out)
        out.seek(0)
        return judged([Record(**json.loads(line)) for line in out]) + one.left()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged(records: Sequence[Record]) -> list[Growth]:
    """The growth of every quantity after a turn of all kinds, of which there may be one twice."""
    turn = max(next(index for index, one in enumerate(records) if one.kind == kind) for kind in _kinds(records))
    kept = records[turn:]
    found = [judge_count(name, [one.counts[name] for one in kept]) for name in kept[0].counts]
    sized = records[max(turn, int(len(records) * SIZE_WARM_UP)) :]
    for name in kept[0].sizes:
        is_objects = name.startswith("objects")
        outside, inside = _split([one.sizes[name] for one in sized], [one.kind == "in_process" for one in sized])
        found.append(judge_slope(name, outside, OBJECTS_BOUND if is_objects else MIB_BOUND))
        if len(inside) > 1 and "pytest" in name:
            bound = IN_PROCESS_OBJECTS_BOUND if is_objects else IN_PROCESS_MIB_BOUND
            found.append(judge_slope(f"{name} by in-process clusters", inside, bound))
    for name, label in (("seconds", "seconds a cluster"), ("processor", "processor seconds a cluster")):
        series: defaultdict[str, list[float]] = defaultdict(list)
        controls: defaultdict[str, list[float]] = defaultdict(list)
        for one in kept:
            series[one.kind].append(getattr(one, name))
            controls[one.kind].append(one.control if name == "seconds" else 1.0)
        found.append(judge_time(label, series, controls, TIME_BOUND))
    return found


def _split(values: Sequence[float], chosen: Sequence[bool]) -> tuple[list[float], list[float]]:
    """The series as if only those clusters had changed it that are not chosen, and only those that are."""
    split = [values[0]], [values[0]]
    for (before, now), is_chosen in zip(itertools.pairwise(values), chosen[1:]):
        split[is_chosen].append(split[is_chosen][-1] + now - before)
    return split


def _kinds(records: Sequence[Record]) -> set[str]:
    return {one.kind for one in records}


def _tell(index: int, kind: str, last: Census, now: Census) -> None:
    """Say at once what there is more of, for whoever looks for its cause."""
    for name, value in now.counts.items():
        if value > last.counts.get(name, 0):
            new = [one for one in now.seen.get(name, []) if one not in last.seen.get(name, [])]
            print(f"cluster {index} ({kind}): {name} {last.counts.get(name, 0)} -> {value} {new[:5]}", flush=True)
