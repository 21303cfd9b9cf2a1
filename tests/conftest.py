"""One launcher of real clusters for all tests that start many, in a folder of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.processes import is_gone


@pytest.fixture(scope="session")
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for temporary files that no other program on the machine uses."""
    folder = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="session")
def launcher(temporary_folder: Path) -> Iterator[ClusterLauncher]:
    """Forks tasks from one process that has TensorFlow: importing it would take longer than training a few steps."""
    with ClusterLauncher() as launcher:
        launcher.wait_until_warm(240)
        yield launcher
        run_dir, pid = launcher.run_dir, launcher.supervisor_pid
    assert run_dir is not None
    assert pid is not None
    assert not run_dir.exists()
    assert is_gone(pid)
