"""One launcher for all faults, a check after each that nothing is left, and the option that tries every one of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.leftovers import nothing_left


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-fault", action="store_true", help="every fault in every phase under every strategy")


@pytest.fixture(scope="session")
def temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for temporary files that no other program on the machine uses."""
    folder = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="session")
def launcher(temporary_files: Path) -> Iterator[ClusterLauncher]:
    with ClusterLauncher() as launcher:
        launcher.wait_until_warm(240)
        yield launcher


@pytest.fixture(autouse=True)
def nothing_is_left(launcher: ClusterLauncher, temporary_files: Path) -> Iterator[None]:
    with nothing_left(temporary_files, launcher):
        yield
