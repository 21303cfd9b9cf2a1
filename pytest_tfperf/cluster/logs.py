"""Logs: for this user's eyes only, and their end, however long they are."""

from __future__ import annotations

import os
from pathlib import Path

TAIL_LINES = 40
_TAIL_BYTES = 16_384


def private(path: str, flags: int) -> int:
    """Opens a log, for `open`: whatever the umask, and never through a link that somebody else has put there."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a file (at most 16 KiB); empty where there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            data = file.read()
    except OSError:
        return ""
    kept = data.decode("utf-8", "replace").splitlines()
    if size > _TAIL_BYTES and len(kept) > 1:
        kept = kept[1:]  # most likely not a whole line
    return "\n".join(kept[-lines:])
