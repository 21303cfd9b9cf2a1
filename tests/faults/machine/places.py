"""Odd machines, made for one process: network, mount and cgroup of its own, then the command that is to run there.

Started as ``python -m tests.faults.machine.places PLACE COMMAND...``. None of it reaches beyond the process, and the
kernel takes it back at its end.
"""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_tfperf.cluster import namespace
from tests.faults.machine.users import become
from tests.gate.environ import environ

TOP = Path(__file__).parents[3]
NOT_ALLOWED = 77
"""Exit code where a place cannot be made, as in a container without such rights."""
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
    """No name at all, not even localhost: an empty /etc/hosts, no server to ask, and nobody else who knows it."""
    _private_mounts()
    for file in ("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"):
        if os.path.exists(file):
            _mount("/dev/null", file, flags=_MS_BIND)
    namespace.enter()


def one_core() -> None:
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])


def of_another_user() -> None:
    """As the user that the variable names, who can run this interpreter even where it lies in root's home."""
    _private_mounts()
    prefix = Path(sys.base_prefix).resolve()
    closed = [folder for folder in reversed(prefix.parents) if not folder.stat().st_mode & stat.S_IXOTH]
    if closed:
        interpreter = os.open(prefix, os.O_PATH | os.O_DIRECTORY)
        _mount("none", str(closed[0]), kind="tmpfs", data="mode=755")
        prefix.mkdir(parents=True)
        _mount(f"/proc/self/fd/{interpreter}", str(prefix), flags=_MS_BIND)
    become(int(os.environ["TEST_USER"]))


def in_group() -> None:
    """In the control group that the variable names."""
    (Path(os.environ["TEST_CGROUP"]) / "cgroup.procs").write_text(str(os.getpid()))


PLACES: dict[str, Callable[[], None]] = {
    place.__name__: place for place in (here, ipv6_only, no_ipv6, no_loopback_name, one_core, of_another_user, in_group)
}


def there(place: str, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this interpreter in a place; skip where this machine gives no right to make it."""
    done = subprocess.run(
        in_place(place, *command),
        cwd=TOP,
        env=environ(TOP, **more),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode == NOT_ALLOWED:
        pytest.skip(done.stderr.strip())
    return done


def in_place(place: str, *command: str) -> list[str]:
    """The command that runs a program of this interpreter there."""
    return [sys.executable, "-m", "tests.faults.machine.places", place, sys.executable, *command]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _private_mounts() -> None:
    _check(_libc().unshare(_CLONE_NEWNS))
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)


def _mount(source: str, target: str, *, kind: str = "", flags: int = 0, data: str = "") -> None:
    texts = [text.encode() or None for text in (source, target, kind, data)]
    _check(_libc().mount(*texts[:3], ctypes.c_ulong(flags), texts[3]))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    try:
        PLACES[sys.argv[1]]()
    except OSError as error:
        print(f"not allowed here: {sys.argv[1]}: {error}", file=sys.stderr)
        sys.exit(NOT_ALLOWED)
    os.execv(sys.argv[2], sys.argv[2:])
