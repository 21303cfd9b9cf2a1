"""One launcher for all tests of real clusters, and a check after each that it left nothing behind."""

from __future__ import annotations

import contextlib
import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.processes import is_gone, poll


def _descendants(but: set[int | None]) -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)} - but


def _fds() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for temporary files that no other program on the machine uses."""
    folder = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="session")
def launcher(temporary_folder: Path) -> Iterator[ClusterLauncher]:
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
def spawn_launcher(temporary_folder: Path) -> Iterator[ClusterLauncher]:
    with ClusterLauncher(launcher="spawn", preload=()) as launcher:
        launcher.wait_until_warm(120)
        yield launcher


@pytest.fixture(autouse=True)
def nothing_is_left(
    launcher: ClusterLauncher, spawn_launcher: ClusterLauncher, temporary_folder: Path
) -> Iterator[None]:
    """No process, descriptor or file after a test that was not there before it."""
    launcher.wait_until_warm(120)
    gc.collect()

    def supervisors() -> set[int | None]:
        return {launcher.supervisor_pid, spawn_launcher.supervisor_pid}

    def files() -> set[Path]:
        return set(temporary_folder.glob("*")) | set(temporary_folder.glob("*/cluster-*"))

    processes, descriptors, paths = _descendants(supervisors()), len(_fds()), files()
    yield
    gc.collect()
    poll(lambda: _descendants(supervisors()) <= processes, f"no process left: {_descendants(supervisors())}")
    assert len(_fds()) <= descriptors, _fds()
    assert not files() - paths
