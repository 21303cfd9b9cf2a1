"""What a cluster could leave behind: looked for before and after."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.processes import poll


def descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


@dataclass(frozen=True)
class Things:
    """All that is there of what could be left."""

    processes: frozenset[int]
    """Below this process, but for the supervisors, which the launchers still have."""
    descriptors: int
    files: frozenset[Path]
    """Temporary ones, and what a crash would leave of a process's memory in the working directory."""

    @classmethod
    def now(cls, folder: Path, *launchers: ClusterLauncher) -> Things:
        gc.collect()
        below = {process.pid for process in psutil.Process().children(recursive=True)}
        places = (folder.glob("*"), folder.glob("*/cluster-*"), Path.cwd().glob("core*"))
        return cls(
            frozenset(below - {launcher.supervisor_pid for launcher in launchers}),
            len(descriptors()),
            frozenset(path for place in places for path in place),
        )


@contextlib.contextmanager
def nothing_left(folder: Path, *launchers: ClusterLauncher) -> Iterator[None]:
    """No process, descriptor or file afterwards that was not there before; `folder` is that for temporary files."""
    for launcher in launchers:
        launcher.wait_until_warm(120)
    before = Things.now(folder, *launchers)
    yield
    poll(
        lambda: Things.now(folder, *launchers).processes <= before.processes,
        f"no process left but for {sorted(before.processes)}",
    )
    after = Things.now(folder, *launchers)
    assert after.descriptors <= before.descriptors, descriptors()
    assert not after.files - before.files
