"""What the system refuses to a cluster that starts: one error, which says what there is too little of."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_tfperf.errors import ClusterStartError

_FILES = " No more files can be opened: raise the limit, see ulimit -n."
_FULL = " Make room on that disk, or set TMPDIR to a folder on another one."
_ADVICE = {
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EAGAIN: " No more processes can be started: raise the limit, see ulimit -u and that of the container.",
}


@contextmanager
def start_errors() -> Iterator[None]:
    """Raises ClusterStartError for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise ClusterStartError(f"The cluster cannot be started: {refused(error)}") from error


def refused(error: OSError) -> str:
    """What the system said, and what to do about it."""
    return f"{error}.{_ADVICE.get(error.errno or 0, '')}"
