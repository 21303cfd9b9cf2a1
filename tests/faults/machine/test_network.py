"""Machines whose network is not as usual: clusters of both kinds of traffic, all-reduce and parameter server, work."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.processes import poll
from tests.faults.machine.places import there

PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True, scope="module")
def _ip() -> None:
    if shutil.which("ip") is None:
        pytest.skip("these machines are made with iproute2")


def clusters(place: str, isolation: str, **environ: str) -> dict[str, Any]:
    done = there(place, ["-m", "tests.faults.machine.clusters", isolation], **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["sums"] == [3.0, 3.0]
    assert found["added"] == 3.0
    return found


def test_ipv6_only() -> None:
    """Where the ports are the machine's own; a namespace of ours has a loopback of both kinds."""
    assert all(address.startswith("[::1]:") for address in clusters("ipv6_only", "host")["addresses"])


def test_no_ipv6() -> None:
    assert all(address.startswith("127.0.0.1:") for address in clusters("no_ipv6", "host")["addresses"])


def test_no_name_for_the_loopback() -> None:
    assert clusters("no_loopback_name", "host")["localhost"] is False


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """A proxy's URL, and who has come to it so far."""
    came: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    line, who = server.accept()
                except OSError:
                    return
                came.append(str(who))
                line.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", came
        server.shutdown(socket.SHUT_RDWR)
    thread.join(20)


def test_proxies_for_everything(proxy: tuple[str, list[str]]) -> None:
    """With ports of the machine's own, which a proxy could reach, and nothing of a user's that excepts them."""
    url, came = proxy
    without = {"no_proxy": "", "NO_PROXY": "", "no_grpc_proxy": ""}
    clusters("here", "host", **dict.fromkeys(PROXIES, url), **without)
    assert came == []
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))):
        pass  # the list can have somebody
    poll(lambda: len(came) == 1, lambda: f"one has come, and nobody else: {came}")
