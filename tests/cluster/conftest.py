"""A launcher that starts fresh interpreters, and a check after each test that it left nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.leftovers import nothing_left


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
