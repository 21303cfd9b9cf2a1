"""One launcher for all tests of real clusters, and a check after each that it left nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.leftovers import nothing_left
from tests.cluster.processes import is_gone


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
    with nothing_left(temporary_folder, launcher, spawn_launcher):
        yield
