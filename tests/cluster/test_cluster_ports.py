"""Ports: who can reach a task's server, and what happens where a port is taken."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.cluster.ports import PortPicker
from pytest_tfperf.errors import ClusterStartError
from pytest_tfperf.records.task import TaskId
from tests.cluster.processes import is_gone, own_addresses, poll, workers


def _connects(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


def test_a_server_is_reached_by_its_cluster_and_by_nobody_else(launcher: ClusterLauncher) -> None:
    if launcher.isolation != "namespace":
        pytest.skip("this kernel gives no right to make a network namespace")

    def server(task: Any) -> Any:
        everyone = [TaskId("worker", 0), TaskId("worker", 1)]
        if task.id.index == 0:
            task.start_server()
        target = task.exchange("up", task.target if task.id.index == 0 else "", everyone)[everyone[0]]
        host, port = str(target).removeprefix("grpc://").split(":")
        reached = _connects(host, int(port))
        task.exchange("tried", None, everyone)
        return reached

    with launcher.start(workers(2)) as cluster:
        port = int(cluster.addresses["worker"][0].rpartition(":")[2])
        assert set(cluster.run(server, timeout=60).values()) == {True}
        assert not [host for host in own_addresses() if _connects(host, port)]


def test_in_host_mode_a_server_binds_the_port_that_pytest_holds() -> None:
    def server(task: Any) -> bool:
        task.start_server()
        return _connects("127.0.0.1", int(task.target.rpartition(":")[2]))

    with ClusterLauncher(launcher="spawn", isolation="host", preload=()) as launcher:
        with launcher.start(workers(1)) as cluster:
            port = int(cluster.addresses["worker"][0].rpartition(":")[2])
            with pytest.raises(OSError, match="in use"), socket.socket() as other:
                other.bind(("127.0.0.1", port))
            assert cluster.run(server, timeout=120)["worker:0"]
        assert launcher.isolation == "host"
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", port))


def test_a_taken_port_means_other_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    picks: list[list[int]] = []
    pick = PortPicker.pick

    with socket.socket() as holder:
        holder.bind(("0.0.0.0", PortPicker().pick(1)[0]))
        holder.listen()
        taken = holder.getsockname()[1]

        def unlucky(self: PortPicker, count: int) -> list[int]:
            picks.append(pick(self, count) if len(picks) >= lucky_after else [taken])
            return picks[-1]

        monkeypatch.setattr(PortPicker, "pick", unlucky)
        with ClusterLauncher(launcher="spawn", isolation="host", preload=()) as launcher:
            lucky_after = 2
            with launcher.start(workers(1)) as cluster:
                assert len(picks) == 3
                assert cluster.addresses["worker"] == [f"127.0.0.1:{picks[-1][0]}"]
                assert cluster.run(lambda task: 1)["worker:0"] == 1
            picks.clear()
            lucky_after = 100
            with pytest.raises(ClusterStartError, match=rf"{taken}.*5 times"):
                launcher.start(workers(1))
            assert len(picks) == 5


def test_a_clash_in_the_first_run_starts_the_whole_cluster_again(launcher: ClusterLauncher, tmp_path: Path) -> None:
    def clash_at_first(task: Any, marks: Path) -> list[str]:
        (marks / f"{task.id.index}-{os.getpid()}").touch()
        if task.id.index == 0 and len(list(marks.glob("0-*"))) < 3:
            raise RuntimeError("Could not start gRPC server")
        return list(task.cluster["worker"])

    cluster = launcher.start(workers(2))
    before, pids = cluster.addresses["worker"], list(cluster.pids.values())
    results = cluster.run(clash_at_first, tmp_path, timeout=60)
    assert results["worker:1"] == cluster.addresses["worker"]
    assert not set(before) & set(results["worker:0"])
    for pid in pids:
        poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]
    cluster.close()
    for path in tmp_path.iterdir():
        path.unlink()

    def clash(task: Any) -> None:
        raise RuntimeError("Could not start gRPC server")

    with pytest.raises(ClusterStartError, match="5 times"):
        launcher.start(workers(2)).run(clash, timeout=60)


def test_tensorflow_says_a_clash_as_it_is_known_here(launcher: ClusterLauncher) -> None:
    def clash(task: Any) -> str:
        import tensorflow as tf

        from pytest_tfperf.cluster import ports

        with socket.socket(socket.AF_INET6) as holder:
            holder.bind(("::", int(task.cluster["worker"][0].rpartition(":")[2])))
            holder.listen()
            try:
                task.start_server()
            except tf.errors.OpError as error:
                return "known" if ports.is_clash(str(error)) else str(error)
        return "no clash"

    with launcher.start(workers(1)) as cluster:
        assert cluster.run(clash, timeout=60)["worker:0"] == "known"
