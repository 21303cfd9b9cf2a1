"""A check after each fault that nothing is left of it, and the option that tries every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from tests.cluster.leftovers import nothing_left


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-fault", action="store_true", help="every fault in every phase under every strategy")


@pytest.fixture(autouse=True)
def nothing_is_left(launcher: ClusterLauncher, temporary_folder: Path) -> Iterator[None]:
    with nothing_left(temporary_folder, launcher):
        yield
