"""Logs: for this user's eyes only, of bounded size on disk, and their end, however much was written."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from pathlib import Path

TAIL_LINES = 40
_TAIL_CHARACTERS = 16_384
_LOOK_BACK = 1 << 17
"""Bytes in which the last lines are looked for."""
_BEFORE_CRASH = 10
"""Lines before a crash that are shown, where its stacks are long."""

LIMIT = 64 << 20
"""Bytes of a log from which on only its beginning and its end are kept; where files have no holes, its end alone."""
_KEPT = 1 << 20
"""Bytes that are kept at either end."""
_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01


def private(path: str, flags: int) -> int:
    """Opens a log, for `open`: whatever the umask, and never through a link that somebody else has put there."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a file (at most 16 KiB of text); empty where there is no file.

    After a crash Python writes the stacks of all threads, the one that crashed last: what was written before, which may
    say why, is among the lines then, and stacks of other threads are left out.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOOK_BACK))
            data = file.read()
    except OSError:
        return ""
    kept = data.decode("utf-8", "replace").splitlines()
    if size > _LOOK_BACK and len(kept) > 1:
        kept = kept[1:]  # most likely not a whole line
    crashes = [number for number, line in enumerate(kept) if line.startswith("Fatal Python error:")]
    if crashes and len(kept) - crashes[-1] > lines - _BEFORE_CRASH:
        before = kept[max(0, crashes[-1] - _BEFORE_CRASH) : crashes[-1] + 1]
        kept = [*before, "  ...", *kept[len(before) + 1 - lines :]]
    kept = kept[-lines:]
    text = "\n".join(kept)
    if len(text) > _TAIL_CHARACTERS:
        each = (_TAIL_CHARACTERS - len(kept) + 1) // len(kept)
        text = "\n".join(line[-each:] for line in kept)
    return text


class Log:
    """A file that a process writes to, which opened it to append; it is never waited for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._freed = 0
        """Where the hole ends."""
        self._lost = 0
        """Bytes that were before the file's beginning of now."""

    @property
    def size(self) -> int:
        """Bytes written, as far as they count; 0 where there is no file."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def tail(self) -> str:
        return tail(self.path)

    def bound(self) -> None:
        """Give the disk back what the middle of a log takes that has grown past its limit.

        A hole takes no disk and moves nothing, so that no line is lost that is written meanwhile.
        """
        size = self.size
        if size - self._freed <= LIMIT:
            return
        with contextlib.suppress(OSError):  # which is no reason to end a run
            fd = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                end = size - _KEPT
                if _punch_hole(fd, _KEPT, end - _KEPT):
                    self._freed = end
                else:  # as not every file system has holes
                    size = os.fstat(fd).st_size
                    os.ftruncate(fd, 0)
                    self._freed, self._lost = 0, self._lost + size
            finally:
                os.close(fd)

    def close_up(self) -> None:
        """Leave the hole out of a file that people read, and say so in it; nobody may write to it any more.

        Where there is no room for that the file stays as it is.
        """
        if not self._freed and not self._lost:
            return
        new = self.path.with_suffix(".part")
        try:
            with self.path.open("rb") as old, open(new, "wb", opener=private) as file:
                if self._lost:
                    file.write(_not_kept(self._lost))
                if self._freed:
                    file.write(old.read(_KEPT))
                    file.write(b"\n" + _not_kept(self._freed - _KEPT))
                    old.seek(self._freed)
                while data := old.read(_KEPT):
                    file.write(data)
            new.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()
            return
        self._freed = self._lost = 0


def _not_kept(size: int) -> bytes:
    return f"[{size} bytes of this log were not kept]\n".encode()


def _punch_hole(fd: int, start: int, length: int) -> bool:
    """Free a part of a file's disk (Linux); False where that cannot be."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    offsets = ctypes.c_int64(start), ctypes.c_int64(length)
    return bool(getattr(libc, "fallocate64", libc.fallocate)(fd, _PUNCH_HOLE_KEEP_SIZE, *offsets) == 0)
