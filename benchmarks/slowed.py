"""A pytest plugin that injects a slowdown into one test, as somebody's bad commit would: `-p benchmarks.slowed`."""

from __future__ import annotations

from typing import cast

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", required=True, metavar="TEST[N]", help="node id of the test whose T(N) is lengthened")
    parser.addoption("--slow-by", type=float, required=True, metavar="FRACTION", help="by how much of each step")


@pytest.hookimpl(tryfirst=True)  # before the marker is read
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    test, _, replicas = metafunc.config.getoption("--slow").rstrip("]").rpartition("[")
    marker = metafunc.definition.get_closest_marker("tfperf")
    if marker is not None and metafunc.definition.nodeid == test:
        cast("dict[str, object]", marker.kwargs)["slowdown"] = {int(replicas): metafunc.config.getoption("--slow-by")}
