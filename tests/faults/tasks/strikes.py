"""What goes wrong inside a task."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_tfperf.cluster.values import MAX_VALUE
from pytest_tfperf.records.task import TaskId

Phase = Literal["setup", "warm-up", "timed", "teardown"]

MIB = 1 << 20
LOG_MIB = 1024
LOG_ON_DISK = 160 * MIB
"""Disk that a log may take after a look at it: its limit, and as much again for what is written between two looks."""


@dataclass(frozen=True)
class Plan:
    """What is to go wrong, where and when."""

    fault: str
    phase: Phase
    victim: TaskId
    folder: Path
    """Where the tasks of a run tell each other, and the test, how far they are."""

    @property
    def struck(self) -> Path:
        """There once the fault has struck, or is about to in the next moment."""
        return self.folder / "struck"

    @property
    def children(self) -> Path:
        """Process ids of what the victim has started."""
        return self.folder / "children"


def be_killed(plan: Plan) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash(plan: Plan) -> None:
    ctypes.string_at(0)


def stop(plan: Plan) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def leave_early(plan: Plan) -> None:
    os._exit(0)


def fail(plan: Plan) -> None:
    raise ValueError("the fault")


def _limit_memory() -> None:
    """Let this process have 128 MiB more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 128 * MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def run_out_of_memory(plan: Plan) -> None:
    _limit_memory()
    taken = []
    while True:
        taken.append(bytearray(16 * MIB))


def run_out_of_native_memory(plan: Plan) -> None:
    """As C++ does: its operator `new` throws `std::bad_alloc`, which nobody catches."""
    _limit_memory()
    new = ctypes.CDLL("libstdc++.so.6")._Znwm
    new.argtypes, new.restype = [ctypes.c_size_t], ctypes.c_void_p
    while True:
        new(16 * MIB)


def flood_the_log(plan: Plan) -> None:
    write_a_gigabyte()
    print(f"last words of {plan.victim}, below a gigabyte")
    raise ValueError("the fault")


def write_a_gigabyte() -> None:
    """Into the log, as fast as that goes; then wait until somebody has given most of its disk back."""
    line = b"x" * 1023 + b"\n"
    for _ in range(LOG_MIB):
        os.write(1, line * 1024)
    wait_until(lambda: os.fstat(1).st_blocks * 512 < LOG_ON_DISK, "the log takes little disk")


def stay_for_ever(plan: Plan) -> None:
    while True:
        time.sleep(0.01)


def ignore_sigterm(plan: Plan) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise ValueError("the fault")


def fork_children(plan: Plan) -> None:
    """One that shares all that this process has open, and two in a session of their own."""
    inside = os.fork()
    if inside == 0:
        time.sleep(3600)
        os._exit(0)
    outside = subprocess.Popen(["setsid", "sh", "-c", "sleep 3600 & echo $! && wait"], stdout=subprocess.PIPE)
    assert outside.stdout is not None
    below = int(outside.stdout.readline())
    plan.children.write_text(f"{inside} {outside.pid} {below}")
    raise ValueError("the fault")


def go_on(plan: Plan) -> None:
    """Nothing now: what is wrong is the result."""


STRIKES: dict[str, Callable[[Plan], None]] = {
    "SIGKILL": be_killed,
    "SIGSEGV": crash,
    "SIGSTOP": stop,
    "exit code 0": leave_early,
    "exception": fail,
    "out of memory": run_out_of_memory,
    "out of native memory": run_out_of_native_memory,
    "log of 1 GB": flood_the_log,
    "result too large": go_on,
    "result not picklable": go_on,
    "stuck": stay_for_ever,
    "never connects": stay_for_ever,
    "ignores SIGTERM": ignore_sigterm,
    "forks children": fork_children,
}
RESULTS: dict[str, Callable[[], object]] = {
    "result too large": lambda: bytes(MAX_VALUE + 1),
    "result not picklable": threading.Lock,
}


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"still not so after {seconds:g} s: {what}")
        time.sleep(0.005)


def pids_in(path: Path) -> Sequence[int]:
    return [int(pid) for pid in path.read_text().split()]
