"""What a task is given, and how its result comes back."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterEvent, ClusterLauncher
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import TaskId, TaskPlacement
from tests.cluster.processes import workers


def _facts(task: Any, text: str) -> dict[str, Any]:
    names = ("TF_CONFIG", "CUDA_VISIBLE_DEVICES", "EXTRA", "no_proxy", "no_grpc_proxy")
    print("printed by", task.id)
    return {
        "id": task.id,
        "text": text,
        "env": {name: os.environ.get(name) for name in names},
        "affinity": os.sched_getaffinity(0),
        "cluster": task.cluster,
        "gpus": task.gpus,
        "cwd": os.getcwd(),
        "path": list(sys.path),
        "stdin": sys.stdin.read(),
        "leader": os.getsid(0) == os.getpid() == os.getpgrp(),
        "pid": os.getpid(),
        "sockets": [fd for fd in os.listdir("/proc/self/fd") if _is_socket(fd)],
    }


def _is_socket(fd: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    except OSError:
        return False


@pytest.mark.parametrize("how", ["launcher", "spawn_launcher"])
def test_every_task_gets_what_is_its_own(how: str, request: pytest.FixtureRequest) -> None:
    launcher: ClusterLauncher = request.getfixturevalue(how)
    core = min(os.sched_getaffinity(0))
    placed = [
        TaskPlacement(TaskId("worker", 1), ("2", "3")),
        TaskPlacement(TaskId("worker", 0), (), (core,)),
        TaskPlacement(TaskId("ps", 0)),
        TaskPlacement(TaskId("chief", 0)),
    ]
    with launcher.start(placed, env={"EXTRA": "7", "http_proxy": "http://127.0.0.1:1"}) as cluster:
        results = cluster.run(_facts, "hello")
        assert [str(id) for id in results] == ["chief:0", "worker:0", "worker:1", "ps:0"]
        assert results["worker:1"] is results[TaskId("worker", 1)]
        assert {id: facts["pid"] for id, facts in results.items()} == cluster.pids
        assert "printed by ps:0" in cluster.log_tail("ps:0")
        for id, facts in results.items():
            assert facts["id"] == id
            assert facts["text"] == "hello"
            config = json.loads(facts["env"]["TF_CONFIG"])
            assert config["task"] == {"type": id.type, "index": id.index}
            assert config["cluster"] == facts["cluster"] == cluster.addresses
            assert facts["env"]["EXTRA"] == "7"
            assert "127.0.0.1" in facts["env"]["no_grpc_proxy"]
            assert facts["cwd"] == os.getcwd()
            assert facts["path"] == sys.path
            assert facts["stdin"] == ""
            assert facts["leader"]
            assert len(facts["sockets"]) == 1, "a task holds its own channel and no other process's"
        assert results["worker:0"]["affinity"] == {core}
        assert results["ps:0"]["affinity"] == os.sched_getaffinity(0)
        assert results["worker:0"]["env"]["CUDA_VISIBLE_DEVICES"] == "-1"
        assert results["worker:1"]["env"]["CUDA_VISIBLE_DEVICES"] == "2,3"
        assert results["worker:1"]["gpus"] == ("2", "3")
    assert os.environ.get("EXTRA") is None


def test_a_cluster_runs_more_than_once_and_on_some_of_its_tasks(launcher: ClusterLauncher) -> None:
    def remember(task: Any, value: int) -> int:
        import builtins

        builtins.kept = [*getattr(builtins, "kept", []), value]  # type: ignore[attr-defined]
        return sum(builtins.kept)  # type: ignore[attr-defined]

    with launcher.start(workers(2)) as cluster:
        assert list(cluster.run(remember, 1).values()) == [1, 1]
        assert dict(cluster.run(remember, 10, tasks=["worker:1"])) == {TaskId("worker", 1): 11}
        assert list(cluster.run(remember, 100).values()) == [101, 111]
        with pytest.raises(UsageError, match="worker:7 is not in this cluster"):
            cluster.run(remember, 1, tasks=["worker:7"])
    with pytest.raises(UsageError, match="closed"):
        cluster.run(remember, 1)


def test_exchange_gathers_and_release_waits_for_all(launcher: ClusterLauncher) -> None:
    def talk(task: Any) -> Any:
        everyone = [TaskId("worker", 0), TaskId("worker", 1), TaskId("worker", 2)]
        if task.id.type == "ps":
            task.wait_for_release()
            return "released"
        first = task.exchange("index", task.id.index, everyone)
        pair = task.exchange("index", "pair", everyone[:2]) if task.id.index < 2 else {}
        again = task.exchange("index", task.id.index * 10, everyone)
        return first, pair, again

    with launcher.start(workers(3, ps=1)) as cluster:
        results = cluster.run(talk, timeout=60)
    ids = [TaskId("worker", index) for index in range(3)]
    for id in ids:
        first, pair, again = results[id]
        assert list(first.items()) == list(zip(ids, [0, 1, 2], strict=True))
        assert list(again.values()) == [0, 10, 20]
        assert pair == (dict.fromkeys(ids[:2], "pair") if id.index < 2 else {})
    assert results["ps:0"] == "released"


def test_large_values_and_a_flooded_log(launcher: ClusterLauncher) -> None:
    def flood(task: Any, data: bytes) -> bytes:
        for _ in range(200):
            print("x" * 100_000)
        print("the last line")
        return data[::-1]

    with launcher.start(workers(2)) as cluster:
        results = cluster.run(flood, b"ab" * 10_000_000)
        assert results["worker:1"] == b"ba" * 10_000_000
        assert cluster.log_tail("worker:0").endswith("the last line")
        assert len(cluster.log_tail("worker:0")) <= 16_384


def test_a_result_of_a_class_of_the_test(launcher: ClusterLauncher) -> None:
    @dataclass(frozen=True)
    class Local:
        value: int

    offset = 3
    with launcher.start(workers(2)) as cluster:
        results = cluster.run(lambda task, given: Local(given.value + task.id.index + offset), Local(1))
        assert list(results.values()) == [Local(4), Local(5)]


def test_two_clusters_at_once_and_their_events(request: pytest.FixtureRequest) -> None:
    events: list[ClusterEvent] = []

    def work(task: Any) -> str:
        task.phase("at work")
        return ",".join(task.cluster["worker"])

    with ClusterLauncher(launcher="spawn", preload=(), on_event=events.append) as launcher:
        with launcher.start(workers(2)) as one, launcher.start(workers(1)) as other:
            first, second = one.run(work)["worker:0"], other.run(work)["worker:0"]
        assert not set(first.split(",")) & set(second.split(","))
        run_dir = launcher.run_dir
        assert run_dir is not None
        assert run_dir.stat().st_mode & 0o777 == 0o700
    assert not run_dir.exists()
    kinds = [(event.kind, event.cluster, str(event.task)) for event in events]
    assert ("phase", 1, "worker:1") in kinds
    assert ("ready", 2, "worker:0") in kinds
    assert [event.text for event in events if event.kind == "phase"] == ["at work"] * 3


def test_a_closed_launcher_starts_nothing() -> None:
    launcher = ClusterLauncher()
    launcher.warm_up()
    pid = launcher.supervisor_pid
    launcher.close()
    launcher.close()
    assert pid is not None
    with pytest.raises(UsageError, match="closed"):
        launcher.start(workers(1))


def test_kept_logs(tmp_path: Any) -> None:
    own = ClusterLauncher(launcher="spawn", preload=(), run_dir=tmp_path, keep_logs=True)
    with own, own.start(workers(1)) as cluster:
        cluster.run(lambda task: print("to be kept"))
    (log,) = tmp_path.glob("*/cluster-1/worker-0.log")
    assert log.read_text() == "to be kept\n"


def test_placements_that_are_no_cluster(launcher: ClusterLauncher) -> None:
    with pytest.raises(UsageError, match="at least one"):
        launcher.start([])
    with pytest.raises(UsageError, match="worker:0 is not"):
        launcher.start([TaskPlacement(TaskId("worker", 1))])
    with pytest.raises(UsageError, match="same id"):
        launcher.start([TaskPlacement(TaskId("worker", 0))] * 2)
