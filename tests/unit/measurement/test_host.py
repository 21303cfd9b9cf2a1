"""Looks at a made-up /proc, and at the real one beside a process that keeps a core busy."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_tfperf.measurement.disturbances import host_disturbances
from pytest_tfperf.measurement.host import host_use, is_under, look_at_host, process_name, scope_of
from pytest_tfperf.records.health import HostLook, HostScope, ProcessTime

SCOPE = HostScope(root=10, cores=(0, 1), pinned=True)


def write_proc(root: Path, processes: dict[int, tuple[str, int, int, int]], **files: str) -> None:
    """Processes by id: name, parent, ticks of user time, ticks of children that ended."""
    for pid, (name, parent, user, children) in processes.items():
        folder = root / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        flags = 0x00200000 if parent == 2 else 0x400000
        words = [f"{pid} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0", str(user), "0", str(children), "0"]
        (folder / "stat").write_text(" ".join([*words, "20 0 1 0 777 1000 100"]) + "\n")
        (folder / "comm").write_text(name + "\n")
    for name, text in files.items():
        path = root / "proc" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


STAT = """cpu  900 0 100 5000 0 0 0 40 0 0
cpu0 500 0 50 2500 0 7 7 30 0 0
cpu1 300 0 50 2500 0 0 0 10 0 0
cpu2 100 0 0 0 0 0 0 0 0 0
intr 1
"""


def test_a_look_reads_what_there_is(tmp_path: Path) -> None:
    write_proc(
        tmp_path,
        {10: ("pytest", 1, 50, 0), 11: ("odd ) (name", 10, 20, 5)},
        stat=STAT,
        vmstat="pgpgin 5\npswpin 3\npswpout 4\n",
        pressure__cpu="some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 total=9\n",
    )
    look = look_at_host(SCOPE, tmp_path)
    tick, page = 1 / os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    assert look.busy == pytest.approx(900 * tick)  # two cores, without interrupts
    assert look.stolen == pytest.approx(40 * tick)
    assert (look.swapped_in, look.swapped_out) == (3 * page, 4 * page)
    assert look.stalled == {"cpu": 1.5}
    assert look.processes[11] == ProcessTime("odd ) (name", 10, 777, pytest.approx(25 * tick))  # type: ignore[arg-type]


def test_without_proc_nothing_is_known_and_nothing_disturbs(tmp_path: Path) -> None:
    before, after = look_at_host(SCOPE, tmp_path), look_at_host(SCOPE, tmp_path)
    use = host_use(SCOPE, before, after)
    assert (use.own, use.seen, use.busy, use.stolen, use.swapped_in, use.stalled) == (None,) * 5 + ({},)
    assert host_disturbances(use) == ()


def look(at: float, *processes: tuple[int, int, float], busy: float = 0.0) -> HostLook:
    """Processes as id, parent, seconds so far."""
    return HostLook(
        at, busy, 0.0, {pid: ProcessTime(f"p{pid}", parent, pid, seconds) for pid, parent, seconds in processes}
    )


def test_what_pytest_and_all_under_it_use_is_its_own() -> None:
    before = look(0.0, (10, 1, 1.0), (11, 10, 5.0), (12, 11, 2.0), (20, 1, 7.0), (21, 20, 0.0))
    after = look(2.0, (10, 1, 1.1), (11, 10, 6.0), (12, 11, 2.5), (20, 1, 7.5), (21, 20, 1.0), (22, 20, 0.25))
    use = host_use(SCOPE, before, after)
    assert use.seconds == 2.0
    assert use.own == pytest.approx(1.6)
    assert use.seen == pytest.approx(1.75)
    assert use.top == (("p21", 1.0), ("p20", 0.5), ("p22", 0.25))


def test_a_child_that_ended_counts_for_what_it_used_in_between_only() -> None:
    """Its parent gets all of its time at once, an hour of which may lie before the first look."""
    before = look(0.0, (10, 1, 0.0), (20, 1, 1.0), (21, 20, 3600.0), (22, 21, 50.0))
    after = look(2.0, (10, 1, 0.0), (20, 1, 1.0 + 3600.5 + 50.0))
    assert host_use(SCOPE, before, after).seen == pytest.approx(0.5)


def test_a_parent_that_does_not_wait_for_its_children_used_nothing_less() -> None:
    before = look(0.0, (10, 1, 0.0), (20, 1, 1.0), (21, 20, 3600.0))
    assert host_use(SCOPE, before, look(2.0, (10, 1, 0.0), (20, 1, 1.0))).seen == 0.0


def test_another_process_under_an_old_id_starts_from_nothing() -> None:
    before = look(0.0, (10, 1, 0.0), (20, 1, 50.0))
    after = HostLook(1.0, 0.0, 0.0, {10: ProcessTime("p", 1, 10, 0.0), 20: ProcessTime("new", 1, 99, 0.5)})
    assert host_use(SCOPE, before, after).seen == pytest.approx(0.5)


def test_threads_of_the_kernel_are_no_program() -> None:
    before = HostLook(0.0, 0.0, 0.0, {10: ProcessTime("p", 1, 10, 0.0)})
    after = HostLook(
        1.0, 0.0, 0.0, {10: ProcessTime("p", 1, 10, 0.0), 30: ProcessTime("kswapd0", 2, 5, 0.9, kernel=True)}
    )
    assert host_use(SCOPE, before, after).seen == 0.0


def test_where_pytest_is_not_among_the_processes_nobody_can_be_told_from_it() -> None:
    use = host_use(SCOPE, look(0.0, (20, 1, 1.0)), look(1.0, (20, 1, 2.0)))
    assert (use.own, use.seen) == (None, None)


def test_a_core_brings_its_hyperthreads(tmp_path: Path) -> None:
    for core, siblings in {0: "0,4", 1: "1,5", 2: "2-3"}.items():
        folder = tmp_path / f"sys/devices/system/cpu/cpu{core}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings + "\n")
    assert scope_of([(0,), (2,)], range(4), tmp_path).cores == (0, 2, 3, 4)
    assert scope_of([(0,), (2,)], range(4), tmp_path).pinned
    whole = scope_of([(0,), None], range(4), tmp_path)
    assert (whole.cores, whole.pinned) == ((0, 1, 2, 3, 4, 5), False)
    assert not scope_of([], range(4), tmp_path).pinned


def test_who_is_under_whom(tmp_path: Path) -> None:
    write_proc(tmp_path, {1: ("init", 0, 0, 0), 10: ("a", 1, 0, 0), 11: ("b", 10, 0, 0), 12: ("c", 11, 0, 0)})
    assert is_under(12, 10, tmp_path)
    assert is_under(10, 10, tmp_path)
    assert is_under(10, 11, tmp_path) is False
    assert is_under(99, 10, tmp_path) is None
    assert process_name(12, tmp_path) == "c"
    assert process_name(99, tmp_path) == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_a_real_busy_process_of_somebody_else_is_seen_and_named() -> None:
    """It is told from our own by where it hangs in the tree: beside the root that is given, not under it."""
    cores = sorted(os.sched_getaffinity(0))
    spin = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(spin) as own, subprocess.Popen(spin) as other:
        try:
            scope = HostScope(root=own.pid, cores=tuple(cores), pinned=True)
            before = look_at_host(scope)
            # Until both have had a share of a core that is over every limit, however busy the machine is.
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                time.sleep(0.2)
                use = host_use(scope, before, look_at_host(scope))
                if use.own and use.seen and use.own > 0.1 and use.seen > 0.1 * len(cores) * use.seconds:
                    break
        finally:
            own.kill()
            other.kill()
    assert use.own is not None
    assert use.own > 0.1
    assert any("python" in name for name, _ in use.top)
    (text,) = [line for line in host_disturbances(use) if "other programs" in line]
    assert f"of {len(cores)} core" in text
    assert "python" in text
