"""Turns a freshly forked process into a task's process, before any of TensorFlow runs in it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from types import FrameType

from pytest_tfperf.cluster.spec import tf_config
from pytest_tfperf.records.task import TaskId, TaskPlacement

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOPBACK_NAMES = "localhost,127.0.0.1,::1"
_RESET_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)

NOT_SET_UP = 71
"""Exit code of a task that did not come as far as its own code, or as far as a process."""

DUMP_SIGNAL = signal.SIGUSR2
"""Makes a task write the stack of each of its threads into its log."""


def task_environ(
    base: Mapping[str, str],
    extra: Mapping[str, str],
    placement: TaskPlacement,
    spec: Mapping[str, tuple[str, ...]],
    *,
    shares_port: bool,
) -> dict[str, str]:
    """A task's whole environment: pytest's, then the cluster's `extra`, then what makes it this task."""
    environ = {**base, **extra}
    environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    environ["TF_CONFIG"] = tf_config(spec, placement.id)
    # "-1" and not "": an empty list is taken for an unset one by some readers of the variable.
    environ["CUDA_VISIBLE_DEVICES"] = ",".join(placement.gpus) or "-1"
    if placement.gpus and all(gpu.isdigit() for gpu in placement.gpus):
        environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order that nvidia-smi counts in
    if shares_port:
        environ["TF_GRPC_REUSE_PORT"] = "1"
    hosts = sorted({address.rpartition(":")[0] for some in spec.values() for address in some})
    direct = [_LOOPBACK_NAMES, *(host for host in hosts if host not in _LOOPBACK_NAMES.split(","))]
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):  # gRPC would send even loopback through a proxy
        environ[name] = ",".join(filter(None, (environ.get(name), *direct)))
    return environ


def detach(parent: int, log: int, cores: tuple[int, ...] | None) -> None:
    """Give this process a session of its own, its log as output, no input, its cores, and default signals.

    It is killed when the process `parent` ends, however that ends.
    """
    os.setsid()
    die_with_parent(parent)
    for number in _RESET_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(null)
    os.close(log)
    # A crash would leave a file as large as the process in the working directory. A task may raise its limit again.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends (Linux; elsewhere the closed socket tells it)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)


@contextlib.contextmanager
def leaves_with(parent: int) -> Iterator[None]:
    """Have this block left by SystemExit when the process `parent` ends (Linux)."""

    def leave(number: int, frame: FrameType | None) -> None:
        if os.getppid() != parent:  # the kernel tells the end of the parent's thread too, of which it may have others
            sys.exit(0)

    before = signal.signal(signal.SIGUSR1, leave)
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)
        if os.getppid() != parent:  # it ended before the call
            sys.exit(0)
        yield
    finally:
        _prctl(_PR_SET_PDEATHSIG, 0)
        signal.signal(signal.SIGUSR1, before)


def adopt_orphans() -> None:
    """Become the parent of every process that a task leaves behind, so that it can be killed (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children() -> list[int]:
    """Process ids of this process's children, zombies included; empty where the kernel does not tell."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children") as file:
                found += [int(pid) for pid in file.read().split()]
    except OSError:
        pass
    return found


def signal_process(pid: int, number: int, *, group: bool) -> None:
    """Signal a process, or with `group` all that it leads, where it is still there."""
    try:
        if group:
            os.killpg(pid, number)
            return
    except (ProcessLookupError, PermissionError):  # not the leader of its group yet, or only a zombie is left
        pass
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def why_held(pid: int) -> str:
    """What keeps a process from running at all; empty where nothing does, or where the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
    return {"T": "stopped by a signal", "t": "held by a debugger"}.get(state, "")


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def describe_exit(code: int) -> str:
    """``killed by SIGKILL`` or ``exit code 3``."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def label(id: TaskId) -> str:
    """A task's name as part of a file name."""
    return f"{id.type}-{id.index}"
