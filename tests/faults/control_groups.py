"""Control groups of a test's own, which limit what a process in them may have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


@contextmanager
def control_group(controller: str, limits: dict[str, str]) -> Iterator[Path | None]:
    """A new group with limits, of which its file takes the first that it has; None where this machine gives none.

    Looked for in the tree of the controller, in this process's own group and at the top. No process may be left in it.
    """
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = [CGROUPS / line.partition("::")[2].lstrip("/") for line in lines if "::" in line]
    for parent in (CGROUPS / controller, *own, CGROUPS):
        group = parent / f"pytest-tfperf-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if _takes(group, limits):
                yield group
                return
        finally:
            group.rmdir()
    yield None


def _takes(group: Path, limits: dict[str, str]) -> bool:
    for name, text in limits.items():
        try:
            with (group / name).open("r+") as file:  # which makes no file where there is none
                file.write(text)
        except OSError:
            continue
        return True
    return False
