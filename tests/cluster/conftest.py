"""One launcher for all tests of real clusters, and a check after each that it left nothing behind."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.cluster.processes import is_gone, poll

from pytest_tfperf.cluster import ClusterLauncher


def _descendants(but: set[int | None]) -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)} - but  # type: ignore[operator]


def _fds() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the listing's own
            pass
    return found


@pytest.fixture(scope="session")
def launcher() -> Iterator[ClusterLauncher]:
    with ClusterLauncher() as launcher:
        launcher.wait_until_warm(120)
        yield launcher
        run_dir = launcher.run_dir
        pid = launcher.supervisor_pid
    assert run_dir is not None
    assert pid is not None
    assert not run_dir.exists()
    assert is_gone(pid)


@pytest.fixture(scope="session")
def spawn_launcher() -> Iterator[ClusterLauncher]:
    with ClusterLauncher(launcher="spawn", preload=()) as launcher:
        launcher.wait_until_warm(120)
        yield launcher


@pytest.fixture(autouse=True)
def nothing_is_left(launcher: ClusterLauncher, spawn_launcher: ClusterLauncher) -> Iterator[None]:
    """No process, descriptor or file after a test that was not there before it."""
    launcher.wait_until_warm(120)
    gc.collect()

    def supervisors() -> set[int | None]:
        return {launcher.supervisor_pid, spawn_launcher.supervisor_pid}

    def files() -> set[Path]:
        folder = Path(tempfile.gettempdir())
        return set(folder.glob("pytest-tfperf-*")) | set(folder.glob("pytest-tfperf-*/cluster-*"))

    processes, descriptors, paths = _descendants(supervisors()), len(_fds()), files()
    yield
    gc.collect()
    poll(lambda: _descendants(supervisors()) <= processes, f"no process left: {_descendants(supervisors())}")
    assert len(_fds()) <= descriptors, _fds()
    mine = {path for path in files() - paths if path.stat().st_uid == os.getuid()}
    assert not mine
