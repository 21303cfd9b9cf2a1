"""TensorFlow's servers, from where nobody must reach them: this machine, another namespace, another cluster's hosts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.cluster import ClusterLauncher, namespace, on_hosts
from pytest_tfperf.cluster.spec import host_address
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import TaskId
from tests.cluster.processes import workers

pytestmark = pytest.mark.alone

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
Address = tuple[str, int]


@pytest.fixture(scope="module")
def launcher() -> Iterator[ClusterLauncher]:
    if not namespace.available():
        pytest.skip("this kernel gives no right to make a network namespace")
    with ClusterLauncher() as launcher:
        launcher.wait_until_warm(300)
        yield launcher


SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The frame that both sides of HTTP/2 begin with, here an empty one."""
OF_GRPC = bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0xFE, 0x03, 0, 0, 0, 1])
"""One with the setting that gRPC's library has for itself."""


def reached(addresses: Sequence[Address]) -> list[Address]:
    """Those of addresses where a server of gRPC answers; a proxy of this network may answer for any address."""
    found = []
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), timeout=1) as line:
                line.settimeout(10)
                line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS)
                answer = line.recv(1000)
        except OSError:
            continue
        if answer[3:4] == OF_GRPC[3:4] and OF_GRPC[9:11] in answer:
            found.append((host, port))
    return found


def everywhere(port: int) -> list[Address]:
    """The port at every address of this process's machine, and at those that clusters of ours give their hosts."""
    inet = (socket.AF_INET, socket.AF_INET6)
    own = {one.address for some in psutil.net_if_addrs().values() for one in some if one.family in inet}
    hosts = {host_address(0), host_address(1)}
    return [(address, port) for address in sorted({"127.0.0.1", "::1", *own, *hosts})]


def serving(task: Any) -> tuple[bool, list[str], list[str]]:
    """worker:0 serves and worker:1 reaches it; then both stay. What both see of a network: devices, and ways out."""
    if task.id == W0:
        task.start_server()
    target = task.exchange("up", task.target if task.id == W0 else "", [W0, W1])[W0]
    host, _, port = str(target).removeprefix("grpc://").rpartition(":")
    got = bool(reached([(host, int(port))]))
    task.exchange("tried", None, [W0, W1])
    with open("/proc/net/route") as file:
        ways = [line for line in file.read().splitlines()[1:] if line.split()[1] == "00000000"]
    return got, sorted(os.listdir("/proc/self/net/dev_snmp6")), ways


FROM_ANOTHER_NAMESPACE = """
import sys
from pytest_tfperf.cluster import namespace
from tests.faults.machine.test_servers import everywhere, reached
namespace.enter()
print(reached(everywhere(int(sys.argv[1]))))
"""


def from_another_namespace(port: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FROM_ANOTHER_NAMESPACE, str(port)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


def test_a_server_is_within_its_clusters_namespace(launcher: ClusterLauncher) -> None:
    with launcher.start(workers(2)) as cluster:
        port = int(cluster.addresses["worker"][0].rpartition(":")[2])
        for got, devices, ways in cluster.run(serving, timeout=120).values():
            assert got
            assert devices == ["lo"], "nothing leads in or out"
            assert ways == []
        assert reached(everywhere(port)) == []
        assert from_another_namespace(port) == "[]"
        with (
            ClusterLauncher(preload=()) as other,
            other.start(workers(1)) as neighbour,
        ):
            assert neighbour.run(lambda task: reached(everywhere(port)), timeout=120) == {W0: []}


def test_a_server_is_on_its_clusters_links_and_nowhere_else(launcher: ClusterLauncher) -> None:
    """The hosts of another cluster have the same addresses, and are not on the same line."""
    if reason := launcher.links_unavailable():
        pytest.skip(reason)
    line = Link.parse("1gbit")
    with launcher.start(on_hosts(workers(2), [0, 1]), link=line) as cluster:
        host, _, port = cluster.addresses["worker"][0].rpartition(":")
        for got, devices, ways in cluster.run(serving, timeout=120).values():
            assert got
            assert devices == ["eth0", "lo"]
            assert ways == [], "no way out of the cluster's network"
        assert host == host_address(0)
        assert reached(everywhere(int(port))) == []
        assert from_another_namespace(int(port)) == "[]"
        with launcher.start(on_hosts(workers(2), [0, 1]), link=line) as neighbours:
            found = neighbours.run(lambda task: reached(everywhere(int(port))), timeout=120)
            assert found == {W0: [], W1: []}


def test_the_check_can_fail() -> None:
    """A server that listens on every interface, as TensorFlow's do, is found at all of them."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            for _ in range(2):
                with server.accept()[0] as line:
                    line.sendall(OF_GRPC)
                    line.recv(1)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert reached([("127.0.0.1", port), ("::1", port)]) == [("127.0.0.1", port), ("::1", port)]
        assert {("127.0.0.1", port), ("::1", port)} <= set(everywhere(port))
        thread.join(20)
