"""Holds the cores and GPUs that a session measures on: two sessions at once would slow each other down.

What is locked (flock) is a device's own folder in sysfs. It is the same one for every user, working directory and
environment of a machine, nothing is written, and the kernel takes the lock back however a session ends. But anybody can
lock it. So a session waits for those of its own user alone, and for them not for ever; whoever it does not wait for is
named, and what that does to a run is seen in the run itself. Containers with a network of their own have a sysfs of
their own too, and do not see each other's locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.measurement.host import is_under
from pytest_tfperf.units import format_seconds

_POLL_SECONDS = 0.2
_LOOKS = 5
"""Looks for a holder that is not listed: it has just let go, or it cannot be seen from here."""

_locks: weakref.WeakSet[DeviceLock] = weakref.WeakSet()


def core_folders(cores: Collection[int], root: Path = Path("/")) -> list[Path]:
    return [root / f"sys/devices/system/cpu/cpu{core}" for core in sorted(cores)]


def gpu_folders(addresses: Collection[str], root: Path = Path("/")) -> list[Path]:
    """Those of GPUs given by the PCI address that NVML tells, for instance ``00000000:17:00.0``."""
    found = set()
    for address in addresses:
        domain, _, rest = address.partition(":")
        with contextlib.suppress(ValueError):
            found.add(root / "sys/bus/pci/devices" / f"{int(domain, 16):04x}:{rest.lower()}")
    return sorted(found)


@dataclass(frozen=True)
class Holder:
    """Who holds a device."""

    pid: int
    user: int
    folder: str
    """Where it works; empty where that is not told."""

    def __str__(self) -> str:
        if self.user == os.geteuid():
            return f"pid {self.pid} in {self.folder or 'an unknown folder'}"
        try:
            return f"pid {self.pid} of the user {pwd.getpwuid(self.user).pw_name}"
        except KeyError:
            return f"pid {self.pid} of the user {self.user}"


def holder_of(folder: Path, root: Path = Path("/")) -> Holder | None:
    """The process that has locked a folder; None where it cannot be seen, or there is none by now."""
    try:
        status = folder.stat()
        key = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        lines = [line.split() for line in (root / "proc/locks").read_text().splitlines()]
        (pid, *_) = [int(words[4]) for words in lines if words[1] == "FLOCK" and words[5] == key]
        user = (root / "proc" / str(pid)).stat().st_uid
    except (OSError, ValueError, IndexError):
        return None
    try:
        return Holder(pid, user, os.readlink(root / "proc" / str(pid) / "cwd"))
    except OSError:
        return Holder(pid, user, "")


class DeviceLock:
    """The devices of one session."""

    def __init__(self) -> None:
        self._held: list[int] = []
        _locks.add(self)

    def hold(
        self, alone: Sequence[Path], shared: Sequence[Path], *, seconds: float, say: Callable[[str], None]
    ) -> float:
        """Take the devices, `alone` for this session and `shared` with others that share them; wait for one's turn.

        Gives the seconds that were waited.

        Goes on without a device that it has waited for so many `seconds`, or that is held by somebody who is not to be
        waited for. A session within a test of another one does not wait for that, which waits for it.
        """
        wanted = {**dict.fromkeys(shared, fcntl.LOCK_SH), **dict.fromkeys(alone, fcntl.LOCK_EX)}
        began = time.monotonic()
        told, unseen = None, 0
        while (busy := self._take(wanted)) is not None:
            holder = holder_of(busy)
            waited = time.monotonic() - began
            if holder is not None and is_under(os.getpid(), holder.pid):
                break
            unseen = 0 if holder is not None else unseen + 1
            if unseen >= _LOOKS:
                say(f"{_name(busy)} is held by another session that cannot be seen from here{_CONSEQUENCE}")
                break
            if holder is not None and holder.user != os.geteuid():
                say(f"{_name(busy)} is held by {holder}, which is not waited for{_CONSEQUENCE}")
                break
            if holder is not None and waited >= seconds:
                say(f"{_name(busy)} is held by {holder} after {format_seconds(waited)} still{_CONSEQUENCE}")
                break
            if holder is not None and holder != told:
                say(
                    f"waits for another session, which measures on {_name(busy)}: {holder} "
                    f"(for {format_seconds(seconds)} at most)"
                )
                told = holder
            time.sleep(_POLL_SECONDS)
        else:
            if told is not None:
                say(f"waited {format_seconds(time.monotonic() - began)} for another session")
            return time.monotonic() - began
        self._take(wanted, in_part=True)
        return time.monotonic() - began

    def close(self) -> None:
        """Let go of all. Safe to call again."""
        while self._held:
            os.close(self._held.pop())

    def _take(self, wanted: Mapping[Path, int], *, in_part: bool = False) -> Path | None:
        """Take all, or nothing and give the first that somebody else has; with `in_part`, all that nobody else has.

        In one order, so that of two sessions that want the same one gets it. What this system cannot lock is left out.
        """
        with uninterrupted():  # else what Ctrl-C comes just after is held by nobody who could let go of it
            for folder, kind in sorted(wanted.items()):
                try:
                    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                except OSError:
                    continue
                try:
                    fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(descriptor)
                    if not in_part:
                        self.close()
                        return folder
                except OSError:
                    os.close(descriptor)
                else:
                    self._held.append(descriptor)
            return None


_CONSEQUENCE = ": what it disturbs decides nothing"


def _name(folder: Path) -> str:
    return f"core {folder.name[3:]}" if folder.name.startswith("cpu") else f"GPU {folder.name}"


def _let_go() -> None:
    """In a process that another plugin has forked, which may outlive the session."""
    for lock in _locks:
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
