"""Files that are never half-written, and reading those that may be anything.

A lock on a folder, replacing a file's content in one step, and reading a file that somebody else has put there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_tfperf.interrupts import uninterrupted

LOCK_SECONDS = 30.0
"""How long to wait for another session that saves; it holds the lock for well under a second."""

NEW_FILE_MODE = 0o644
_MOST_LINKS = 40
_SQLITE = b"SQLite format 3\0"
_CANNOT_LOCK = {errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


@contextmanager
def locked_folder(folder: Path, seconds: float = LOCK_SECONDS) -> Iterator[bool]:
    """Create the folder and hold it for this process alone; false where its file system has no such lock (some NFS).

    The folder itself is locked, so no lock file is left among the user's files. Raises TimeoutError or another OSError.
    """
    deadline = time.monotonic() + seconds
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # removed since the line above, as git does with a folder that became empty
            if time.monotonic() > deadline:
                raise
            continue
        try:
            locked = _lock(descriptor, deadline)
            if _is_still(folder, descriptor):
                yield locked
                return
        finally:
            os.close(descriptor)


def _lock(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another session has been saving into this folder") from None
            time.sleep(0.01)
        except OSError as error:
            if error.errno in _CANNOT_LOCK:
                return False
            raise


def _is_still(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(folder), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def is_database(path: Path) -> bool:
    """Whether a regular file is an SQLite database, by its header; false where it cannot be read."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def read_whole(path: Path, most: int) -> bytes:
    """Read a regular file of at most `most` bytes; never waits, as opening a named pipe would, and never reads on.

    Raises OSError: also for what is no regular file, and for one that is larger.
    """
    # Without O_NONBLOCK opening a pipe waits for its other end; without O_NOCTTY a terminal could become ours.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = b"" if status.st_size > most else file.read(most + 1)
        if max(status.st_size, len(content)) > most:
            raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
        return content
    finally:
        os.close(descriptor)


def followed(path: Path) -> Path:
    """Where a path leads, through links as `Path.resolve`, but not through what another user has planted.

    Raises PermissionError for a link or a file of another user in a folder that everybody can write to: a link there
    would have us overwrite a file of ours, and a named pipe wait for ever. It is the rule of Linux's
    `fs.protected_symlinks` and its like, which not every system has switched on, and which spare a folder without the
    sticky bit: there everybody can put a link in a file's place too.
    """
    rest = Path(os.path.abspath(path))
    for _ in range(_MOST_LINKS):
        link = next((each for each in (*reversed(rest.parents), rest) if each.is_symlink()), None)
        planted = link or rest
        if os.path.lexists(planted) and _is_planted(planted):
            raise PermissionError(
                errno.EACCES, "it belongs to another user, in a folder that everybody can write to", str(planted)
            )
        if link is None:
            return rest
        target = link.parent / os.readlink(link)
        if link.exists() and not target.exists():  # a descriptor's in /proc, whose text is no path
            return rest
        rest = Path(os.path.abspath(target / rest.relative_to(link)))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_planted(path: Path) -> bool:
    folder, own = path.parent.stat(), path.lstat()
    return bool(folder.st_mode & stat.S_IWOTH) and own.st_uid not in (os.geteuid(), folder.st_uid)


def replace_content(path: Path, content: bytes, alone: bool) -> None:
    """Give the file this content: after a crash at any moment it holds all of the old or all of the new.

    An existing file keeps its mode; a new one gets 0644 less the umask. With `alone` (the folder is locked), what an
    earlier session left behind when it was killed is removed. Ctrl-C waits until it is done. Raises OSError.
    """
    with uninterrupted():
        _replace_content(path, content, alone)


def _replace_content(path: Path, content: bytes, alone: bool) -> None:
    if alone:
        for leftover in path.parent.glob(f".{_escaped(path.name)}.*.tmp"):
            leftover.unlink(missing_ok=True)
    temporary = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, NEW_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # the new file's folder entry, and the folder's own where it was just made
    for folder in (path.parent, path.parent.parent):
        _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:  # file systems that cannot sync a folder say so with the same codes
            raise
    finally:
        os.close(descriptor)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
