"""Who is in a cluster, and what each task gets."""

from __future__ import annotations

import json

import pytest

from pytest_tfperf.cluster.process import describe_exit, task_environ
from pytest_tfperf.cluster.spec import cluster_spec, placements, tf_config
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import Layout, TaskId, TaskPlacement

W0, W1, PS0, CHIEF = TaskId("worker", 0), TaskId("worker", 1), TaskId("ps", 0), TaskId("chief", 0)


def test_spec_is_ordered_by_job_and_index() -> None:
    spec = cluster_spec({PS0: "p:1", W1: "w:2", CHIEF: "c:1", W0: "w:1"})
    assert list(spec.items()) == [("chief", ["c:1"]), ("worker", ["w:1", "w:2"]), ("ps", ["p:1"])]
    assert json.loads(tf_config(spec, W1)) == {"cluster": spec, "task": {"type": "worker", "index": 1}}


def test_an_index_that_is_left_out() -> None:
    with pytest.raises(UsageError, match="worker:1 is in the cluster but worker:0 is not"):
        cluster_spec({W1: "w:1"})


def test_gpus_and_cores_are_shared_out() -> None:
    layout = Layout(workers=2, ps=1, replicas_per_worker=2)
    placed = placements(layout, gpus=["0", "1", "2", "3"], cores=range(5))
    assert placed == (
        TaskPlacement(W0, ("0", "1"), (0, 1)),
        TaskPlacement(W1, ("2", "3"), (2, 3)),
        TaskPlacement(PS0, (), (4,)),
    )
    assert placements(Layout(workers=1, ps=1, chief=True)) == (
        TaskPlacement(CHIEF),
        TaskPlacement(W0),
        TaskPlacement(PS0),
    )
    assert placements(Layout(workers=1, ps=1), cores=[3])[1].cores == (3,), "what is left over is nothing"


def test_a_chief_that_only_schedules_takes_no_workers_gpu_or_core() -> None:
    layout = Layout(workers=2, ps=1, chief=True, chief_trains=False)
    assert placements(layout, gpus=["0", "1"], cores=range(3)) == (
        TaskPlacement(CHIEF, (), (2,)),
        TaskPlacement(W0, ("0",), (0,)),
        TaskPlacement(W1, ("1",), (1,)),
        TaskPlacement(PS0, (), (2,)),
    )


def test_what_does_not_go_round() -> None:
    with pytest.raises(UsageError, match="needs 4 GPUs, this machine has 1"):
        placements(Layout(workers=2, replicas_per_worker=2), gpus=["0"])
    with pytest.raises(UsageError, match="needs 2 cores to pin to, this machine has 1"):
        placements(Layout(workers=2), cores=[0])


def test_environment_of_a_task() -> None:
    spec = {"worker": ("127.0.0.1:1",)}
    base = {"A": "1", "no_proxy": "corp", "TF_CONFIG": "old"}
    environ = task_environ(base, {"A": "2"}, TaskPlacement(W0), spec, shares_port=False)
    assert environ["A"] == "2"
    assert environ["CUDA_VISIBLE_DEVICES"] == "-1"
    assert environ["no_proxy"].startswith("corp,localhost,127.0.0.1")
    assert json.loads(environ["TF_CONFIG"])["cluster"] == {"worker": ["127.0.0.1:1"]}
    assert "TF_GRPC_REUSE_PORT" not in environ
    environ = task_environ(
        base, {"TF_CPP_MIN_LOG_LEVEL": "0"}, TaskPlacement(W0, ("GPU-a", "1")), spec, shares_port=True
    )
    assert environ["TF_GRPC_REUSE_PORT"] == "1"
    assert environ["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert environ["CUDA_VISIBLE_DEVICES"] == "GPU-a,1"


def test_exits_in_words() -> None:
    assert [describe_exit(code) for code in (0, 3, -9)] == ["exit code 0", "exit code 3", "killed by SIGKILL"]
