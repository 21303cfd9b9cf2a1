"""A launcher of real clusters, for tests that start many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from pytest_tfperf.cluster import ClusterLauncher


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterLauncher]:
    """Forks tasks from one process that has TensorFlow: importing it would take longer than training a few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("tmp")))
        with ClusterLauncher() as launcher:
            launcher.wait_until_warm(240)
            yield launcher
