"""Odd machines, made for one process: network, mount and cgroup of its own, then the command that is to run there.

Started as ``python -m tests.faults.machine_places PLACE COMMAND...``. None of it reaches beyond the process, and the
kernel takes it back at its end.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_tfperf.cluster import namespace

TOP = Path(__file__).parents[2]
_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18


def here() -> None:
    """This machine as it is."""


def ipv6_only() -> None:
    """A loopback that has ::1 and no 127.0.0.1."""
    namespace.enter()
    run("ip", "-4", "addr", "flush", "dev", "lo")
    assert "127.0.0.1" not in run("ip", "addr", "show", "dev", "lo")


def no_ipv6() -> None:
    namespace.enter()
    for kind in ("all", "default", "lo"):
        Path(f"/proc/sys/net/ipv6/conf/{kind}/disable_ipv6").write_text("1")
    assert "::1" not in run("ip", "addr", "show", "dev", "lo")


def no_loopback_name() -> None:
    """No name at all, not even localhost: an empty /etc/hosts, and no server to ask."""
    _check(_libc().unshare(_CLONE_NEWNS))
    _check(_libc().mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))
    for file in (b"/etc/hosts", b"/etc/resolv.conf"):
        _check(_libc().mount(b"/dev/null", file, None, ctypes.c_ulong(_MS_BIND), None))
    namespace.enter()


def one_core() -> None:
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])


def in_group() -> None:
    """In the control group that the variable names."""
    (Path(os.environ["TEST_CGROUP"]) / "cgroup.procs").write_text(str(os.getpid()))


PLACES: dict[str, Callable[[], None]] = {
    place.__name__: place for place in (here, ipv6_only, no_ipv6, no_loopback_name, one_core, in_group)
}


def there(place: str, command: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this interpreter in a place; skip where this machine gives no right to make it."""
    if place in ("ipv6_only", "no_ipv6", "no_loopback_name") and os.geteuid() != 0:
        pytest.skip("making such a machine needs root")
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.machine_places", place, sys.executable, *command],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": python_path(), **environ},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def python_path() -> str:
    """With this repository and the folder of the workload with a steady step."""
    return os.pathsep.join(filter(None, (str(TOP), str(TOP / "tests" / "gate"), os.environ.get("PYTHONPATH"))))


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    PLACES[sys.argv[1]]()
    os.execv(sys.argv[2], sys.argv[2:])
