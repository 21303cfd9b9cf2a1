"""Hosts with shaped links: what crosses them, how fast, and what is left of them afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.cluster import ClusterLauncher, MultiProcessCluster, on_hosts
from pytest_tfperf.cluster.network import why_no_links
from pytest_tfperf.errors import ClusterStartError, TaskDiedError, TaskFailedError, UsageError
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import TaskId
from tests.cluster.processes import is_gone, own_addresses, poll, workers

FAST = Link.parse("2gbit")
W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
MEGABYTE = 1_000_000


@pytest.fixture(autouse=True)
def links(launcher: ClusterLauncher) -> Iterator[None]:
    """Skip where links cannot be had, and see that this machine's own network is never touched."""
    if reason := launcher.links_unavailable():
        pytest.skip(reason)
    before = sorted(os.listdir("/sys/class/net"))
    yield
    assert sorted(os.listdir("/sys/class/net")) == before


def _pass_on(task: Any, count: int) -> float:
    """Send `count` bytes from worker:0 to worker:1; the seconds that it took."""
    host, port = task.cluster["worker"][1].split(":")
    everyone = [W0, W1]
    if task.id == W1:
        with socket.create_server((host, int(port))) as server:
            task.exchange("listening", None, everyone)
            with server.accept()[0] as line:
                began, got, buffer = time.monotonic(), 0, bytearray(1 << 20)
                while got < count:
                    got += line.recv_into(buffer)
                return time.monotonic() - began
    task.exchange("listening", None, everyone)
    with socket.create_connection((host, int(port))) as line:
        line.sendall(bytes(count))
        line.recv(1)  # until the other end has all of it
    return 0.0


def _namespaces() -> set[int]:
    """Every network namespace that a process of this machine is in, or holds a descriptor of."""
    found = set()
    for path in [*Path("/proc").glob("[0-9]*/ns/net"), *Path("/proc").glob("[0-9]*/fd/*")]:
        try:
            kind, _, number = os.readlink(path).partition(":")
        except OSError:
            continue
        if kind == "net":
            found.add(int(number.strip("[]")))
    return found


def _own_namespace(task: Any) -> int:
    return os.stat("/proc/self/ns/net").st_ino


def _traces(launcher: ClusterLauncher, cluster: MultiProcessCluster) -> tuple[list[int], set[int]]:
    """Processes and network namespaces of a cluster with links."""
    own = set(cluster.run(_own_namespace, timeout=60).values())
    pids = set(cluster.pids.values())
    children = {child.pid for child in psutil.Process(launcher.supervisor_pid).children()}
    (switch,) = [pid for pid in children if pid not in pids and _is_switch(pid)]
    own.add(os.stat(f"/proc/{switch}/ns/net").st_ino)
    assert own <= _namespaces()
    return [*pids, switch], own


def _is_switch(pid: int) -> bool:
    return "host0:" in Path(f"/proc/{pid}/net/dev").read_text()


def _assert_gone(pids: list[int], namespaces: set[int]) -> None:
    for pid in pids:
        poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]
    poll(lambda: not namespaces & _namespaces(), f"{namespaces} are gone")


@pytest.mark.alone
def test_a_link_is_as_fast_as_it_says(launcher: ClusterLauncher) -> None:
    two = on_hosts(workers(2), [0, 1])

    def rate(link: Link | None, count: int) -> float:
        with launcher.start(two, link=link) as cluster:
            seconds = cluster.run(_pass_on, count, timeout=60)["worker:1"]
            if link is not None:
                hosts = cluster.traffic().hosts
                assert count <= hosts[0].sent < 1.1 * count
                assert count <= hosts[1].received < 1.1 * count
                assert hosts[0].received < 0.1 * count
        return count / seconds

    slow, fast, unshaped = rate(Link.parse("100mbit"), 5 * MEGABYTE), rate(FAST, 100 * MEGABYTE), rate(None, 10**8)
    assert slow < 1.1 * 12.5 * MEGABYTE
    assert fast < 1.1 * 250 * MEGABYTE
    assert slow * 3 < fast
    assert slow * 3 < unshaped


def test_what_a_host_receives_is_shaped_too(launcher: ClusterLauncher) -> None:
    def gather(task: Any, count: int) -> float:
        everyone = [TaskId("worker", index) for index in range(3)]
        host, port = task.cluster["worker"][0].split(":")
        if task.id.index:
            task.exchange("listening", None, everyone)
            with socket.create_connection((host, int(port))) as line:
                line.sendall(bytes(count))
                line.recv(1)
            return 0.0
        with socket.create_server((host, int(port))) as server:
            task.exchange("listening", None, everyone)
            began = time.monotonic()
            lines = [server.accept()[0] for _ in range(2)]
            got = 0
            import selectors

            with selectors.DefaultSelector() as selector:
                for line in lines:
                    selector.register(line, selectors.EVENT_READ)
                while got < 2 * count:
                    for key, _ in selector.select():
                        assert isinstance(key.fileobj, socket.socket)
                        got += len(key.fileobj.recv(1 << 20))
            for line in lines:
                line.close()
            return time.monotonic() - began

    # Two senders with a link each: only the receiver's own can hold them to the rate of one.
    with launcher.start(on_hosts(workers(3), [0, 1, 2]), link=Link.parse("200mbit")) as cluster:
        seconds = cluster.run(gather, 5 * MEGABYTE, timeout=60)["worker:0"]
    assert 10 * MEGABYTE / seconds < 1.1 * 25 * MEGABYTE


def test_tasks_of_one_host_do_not_cross_its_link(launcher: ClusterLauncher) -> None:
    placed = on_hosts(workers(2, ps=1), {"worker": 4, "ps": 7})
    with launcher.start(placed, link=Link.parse("10mbit")) as cluster:
        assert [one.rpartition(":")[0] for one in cluster.addresses["worker"]] == ["10.0.0.5", "10.0.0.5"]
        assert cluster.addresses["ps"][0].startswith("10.0.0.8:")
        first, second, other = cluster.run(_own_namespace).values()
        assert first == second != other
        cluster.run(_pass_on, 20 * MEGABYTE, tasks=["worker:0", "worker:1"], timeout=60)
        traffic = cluster.traffic()
    assert set(traffic.hosts) == {4, 7}
    assert max(one.sent + one.received for one in traffic.hosts.values()) < 0.01 * MEGABYTE
    assert traffic.link == Link.parse("10mbit")


@pytest.mark.alone
def test_tensorflow_crosses_the_link(launcher: ClusterLauncher) -> None:
    floats, steps = 250_000, 5

    def train(task: Any) -> str:
        import tensorflow as tf

        if task.id.type == "ps":
            task.serve()
            return "served"
        server = task.start_server()
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                variable = v1.get_variable("v", initializer=tf.zeros([floats]), use_resource=True)
            with tf.device(f"/job:worker/task:{task.id.index}"):
                gradient = variable.read_value() * 0.5 + tf.random.uniform([floats])
            with tf.device("/job:ps/task:0"):
                update = variable.assign_add(gradient)
            with v1.Session(server.target) as session:
                session.run(v1.global_variables_initializer())
                for _ in range(steps):
                    session.run(update.op)
        return str(task.target)

    with launcher.start(on_hosts(workers(1, ps=1), [0, 1]), link=FAST) as cluster:
        cluster.start_sampling()
        began = time.monotonic()
        target = cluster.run(train, timeout=120)["worker:0"]
        ended = time.monotonic()
        traffic = cluster.stop_sampling()
        port = int(cluster.addresses["worker"][0].rpartition(":")[2])
        for host in own_addresses():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, port), timeout=2)
    assert target == f"grpc://10.0.0.1:{port}"
    worker, ps = traffic.hosts[0], traffic.hosts[1]
    for counted in (worker.sent, worker.received, ps.sent, ps.received):
        assert 4 * floats * steps <= counted < 2 * 4 * floats * steps
    assert worker.samples[0].time <= began
    assert ended <= worker.samples[-1].time
    assert len(worker.samples) > 10
    middle = (began + ended) / 2
    parts = [worker.cut(began, middle), worker.cut(middle, ended)]
    assert sum(one.received for one in parts) == worker.cut(began, ended).received


def test_spawned_tasks_are_on_their_hosts(spawn_launcher: ClusterLauncher) -> None:
    with spawn_launcher.start(on_hosts(workers(2), [0, 1]), link=FAST) as cluster:
        assert len(set(cluster.run(_own_namespace, timeout=60).values())) == 2
        cluster.run(_pass_on, MEGABYTE, timeout=60)
        assert cluster.traffic().hosts[0].sent >= MEGABYTE


def test_sampling_begins_anew(spawn_launcher: ClusterLauncher) -> None:
    with spawn_launcher.start(on_hosts(workers(2), [0, 1]), link=FAST) as cluster:
        cluster.run(_pass_on, MEGABYTE, timeout=60)
        assert len(cluster.traffic().hosts[0].samples) == 2
        cluster.start_sampling(0.002)
        assert cluster.traffic().hosts[0].sent < MEGABYTE
        asked = [2]  # samples that a call took: the beginning's, and that of the look above

        def by_themselves() -> int:
            asked[0] += 1
            return len(cluster.traffic().hosts[0].samples) - asked[0]

        poll(lambda: by_themselves() > 5, "samples come by themselves")
        samples = cluster.stop_sampling().hosts[0].samples
        assert [one.time for one in samples] == sorted({one.time for one in samples})
    with pytest.raises(UsageError, match="closed"):
        cluster.traffic()
    with spawn_launcher.start(workers(1)) as plain, pytest.raises(UsageError, match="have no links"):
        plain.traffic()


def test_nothing_is_left_after_success_or_an_error(spawn_launcher: ClusterLauncher) -> None:
    two = on_hosts(workers(2), [0, 1])

    def fail(task: Any) -> None:
        raise ValueError("now")

    with spawn_launcher.start(two, link=FAST) as cluster, spawn_launcher.start(two, link=FAST) as other:
        traces, others = _own(cluster), _own(other)
        assert not traces & others
        with pytest.raises(TaskFailedError, match="now"):
            cluster.run(fail)
        _assert_gone([], traces)
        other.run(_pass_on, 1000, timeout=60)
    _assert_gone([], others)


def _own(cluster: MultiProcessCluster) -> set[int]:
    return set(cluster.run(_own_namespace, timeout=60).values())


def test_nothing_is_left_of_a_killed_supervisor() -> None:
    with ClusterLauncher(launcher="spawn", preload=()) as own:
        cluster = own.start(on_hosts(workers(2), [0, 1]), link=FAST)
        pids, namespaces = _traces(own, cluster)
        assert own.supervisor_pid is not None
        os.kill(own.supervisor_pid, signal.SIGKILL)
        with pytest.raises(TaskDiedError, match="supervises"):
            cluster.run(_own_namespace)
        _assert_gone(pids, namespaces)
        with own.start(on_hosts(workers(2), [0, 1]), link=FAST) as again:
            again.run(_pass_on, 1000, timeout=60)


def test_a_killed_switch_is_an_error_at_once() -> None:
    with ClusterLauncher(launcher="spawn", preload=()) as own:
        cluster = own.start(on_hosts(workers(2), [0, 1]), link=FAST)
        (*pids, switch), namespaces = _traces(own, cluster)
        os.kill(switch, signal.SIGKILL)
        with pytest.raises(TaskDiedError, match=r"joins the cluster's hosts has ended \(killed by SIGKILL\)"):
            cluster.run(lambda task: time.sleep(3600))
        _assert_gone([*pids, switch], namespaces)


def test_nothing_is_left_of_a_killed_pytest(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from pytest_tfperf.cluster import ClusterLauncher
            from tests.cluster.test_links import FAST, _traces, on_hosts, workers

            launcher = ClusterLauncher(launcher="spawn", preload=(), run_dir=sys.argv[1])
            cluster = launcher.start(on_hosts(workers(2), [0, 1]), link=FAST)
            cluster.start_sampling()
            print([launcher.supervisor_pid], *_traces(launcher, cluster), sep=";", flush=True)
            cluster.run(lambda task: time.sleep(3600))
            """
        )
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), str(tmp_path)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        supervisor, pids, namespaces = map(eval, parent.stdout.readline().split(";"))
        parent.kill()
    _assert_gone([*supervisor, *pids], namespaces)


ROOTLESS = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
"""A user without any right of root's, who can still read what this one can."""


def _run(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)


def test_without_root(tmp_path: Path) -> None:
    if _run([*ROOTLESS, "true"]).returncode:
        pytest.skip("this system gives no user namespace, or its `unshare` is too old")
    script = tmp_path / "rootless.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys
            from pytest_tfperf.cluster import ClusterLauncher
            from tests.cluster.test_links import FAST, _pass_on, on_hosts, workers

            assert os.getuid() == 1000
            assert "CapEff:\\t0000000000000000" in open("/proc/self/status").read()
            with ClusterLauncher(launcher=sys.argv[1], preload=(), run_dir=sys.argv[2]) as launcher:
                assert launcher.links_unavailable() == ""
                with launcher.start(on_hosts(workers(2), [0, 1]), link=FAST) as cluster:
                    cluster.run(_pass_on, 1_000_000, timeout=60)
                    print(cluster.traffic().hosts[0].sent)
            """
        )
    )
    for kind in ("zygote", "spawn"):
        done = _run([*ROOTLESS, sys.executable, str(script), kind, str(tmp_path)])
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) >= MEGABYTE


def test_why_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = [sys.executable, "-m", "pytest_tfperf.cluster.links"]
    forbid = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    if _run([*forbid, "echo 0 > /proc/sys/user/max_net_namespaces"]).returncode == 0:
        done = _run([*forbid, 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"', "sh", *program])
        assert done.stdout == "this kernel gives no right to make network namespaces\n", done.stderr

    with ClusterLauncher(isolation="host", launcher="spawn", preload=()) as own:
        assert "isolation='host'" in own.links_unavailable()
        with pytest.raises(ClusterStartError, match="isolation='host'"):
            own.start(workers(2), link=FAST)

    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pyroute2'] = None\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert "pip install 'pytest-tfperf[links]'" in why_no_links.__wrapped__()
    with ClusterLauncher(launcher="spawn", preload=()) as own:
        with pytest.raises(ClusterStartError, match=r"cannot be joined by links: pyroute2 is not installed"):
            own.start(workers(2), link=FAST)
        with own.start(workers(1)) as cluster:
            assert cluster.run(lambda task: 1)["worker:0"] == 1
