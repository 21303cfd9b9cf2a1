"""The fixture `tf_cluster` on both backends."""

from __future__ import annotations

from tests.gate.conftest import Gate

SUITE = """
import os
import pytest

def facts(task):
    import json
    import tensorflow as tf
    config = json.loads(os.environ["TF_CONFIG"])
    return str(task.id), sorted(config["cluster"]), len(tf.config.list_logical_devices("CPU")), os.getpid()

def test_tasks_of_every_type(tf_cluster):
    results = tf_cluster(workers=2, ps=1, chief=True).run(facts)
    assert [str(task) for task in results] == ["chief:0", "worker:0", "worker:1", "ps:0"]
    assert all(str(task) == answer[0] for task, answer in results.items())
    assert all(answer[1] == ["chief", "ps", "worker"] for answer in results.values())
    assert len({answer[3] for answer in results.values()} | {os.getpid()}) == 5

def test_logical_devices(tf_cluster):
    results = tf_cluster(workers=2, devices_per_task=3).run(facts)
    assert [answer[2] for answer in results.values()] == [3, 3]

def test_two_clusters_at_once(tf_cluster):
    first, second = tf_cluster(workers=1), tf_cluster(workers=1)
    assert first.run(facts)["worker:0"][3] != second.run(facts)["worker:0"][3]

def test_a_failing_task_is_an_error_that_names_it(tf_cluster):
    def fails(task):
        print("something to find in the log", flush=True)
        if task.id.index == 1:
            raise ValueError("bad luck")
    with pytest.raises(Exception, match="(?s)worker:1.*bad luck"):
        tf_cluster(workers=2).run(fails)

def test_in_process(tf_cluster):
    def target_of(task):
        import tensorflow as tf
        with tf.compat.v1.Session(task.target, graph=tf.Graph()) as session:
            with session.graph.as_default(), tf.device("/job:ps/task:0"):
                return os.getpid(), float(session.run(tf.constant(20.0) + 1.0)), len(task.devices)
    results = tf_cluster(workers=2, ps=1, backend="in_process", devices_per_task=2).run(target_of)
    assert set(results.values()) == {(os.getpid(), 21.0, 2)}

def test_a_backend_that_does_not_exist(tf_cluster):
    with pytest.raises(Exception, match="backend is 'multi_process' or 'in_process', not 'docker'"):
        tf_cluster(backend="docker")
"""


def test_clusters_as_a_user_writes_them(fresh: Gate) -> None:
    done = fresh.run("-v", suite=SUITE)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
