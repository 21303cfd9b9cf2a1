"""Servers within one process. Each test has a process of its own: TensorFlow can be configured only once there."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

_HEAD = """
import time
from pytest_tfperf.cluster import Cluster, placements, start_in_process
from pytest_tfperf.errors import *
from pytest_tfperf.records.task import Layout, TaskId
def start(**layout): return start_in_process(placements(Layout(**layout)))
"""


def _run(body: str, temporary: Path) -> None:
    script = _HEAD + textwrap.dedent(body)
    path = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "2", "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_in_process_clusters(tmp_path: Path) -> None:
    _run(
        """
        import tensorflow as tf
        v1 = tf.compat.v1

        def talk(task, offset):
            task.phase("talking")
            if task.id.type == "ps":
                task.serve()
                return "released"
            among = [TaskId("worker", 0), TaskId("worker", 1)]
            values = task.exchange("index", task.id.index + offset, among)
            return list(values.values()), task.devices

        cluster: Cluster = start(workers=2, ps=1)
        results = cluster.run(talk, 10, timeout=60)
        assert results["worker:0"] == ([10, 11], ("/device:CPU:0", "/device:CPU:1")), results
        assert results["worker:1"] == ([10, 11], ("/device:CPU:2", "/device:CPU:3")), results
        assert results["ps:0"] == "released"
        first = cluster.target("worker:0")

        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                variable = v1.get_variable("v", initializer=1.0, use_resource=True)
            with tf.device("/job:worker/task:1"):
                doubled = variable * 2.0
            with v1.Session(first) as session:
                session.run(v1.global_variables_initializer())
                assert session.run(doubled) == 2.0
        cluster.close()

        assert start(workers=2, ps=1).target("worker:0") == first, "servers of one shape are used again"
        assert start(workers=1).target("worker:0") != first

        strategy = tf.distribute.MirroredStrategy(list(cluster.devices("worker:1")))
        assert strategy.num_replicas_in_sync == 2

        def fail(task):
            task.phase("build")
            if task.id.index == 1:
                raise ValueError("no such model")
            task.exchange("never", 0, [TaskId("worker", 0), TaskId("worker", 1)])

        try:
            start(workers=2).run(fail, timeout=60)
        except TaskFailedError as error:
            assert str(error).startswith("worker:1 raised ValueError: no such model (in phase 'build')"), error
            assert isinstance(error.__cause__, ValueError)
            assert "| Traceback (most recent call last):" in str(error)
        else:
            raise AssertionError

        def misuse(task):
            raise UsageError("width is a multiple of 8, not 9.")

        try:
            start(workers=1).run(misuse, timeout=60)
        except TaskFailedError as error:
            assert error.summary.endswith("raised UsageError: width is a multiple of 8, not 9. (in phase 'running')")
        else:
            raise AssertionError

        def hang(task):
            task.phase("asleep")
            if task.id.index == 0:
                time.sleep(3600)

        cluster = start(workers=2)
        try:
            cluster.run(hang, timeout=0.5)
        except ClusterTimeoutError as error:
            assert str(error).startswith("worker:0 (in phase 'asleep') not finished within the deadline of 0.5 s")
        else:
            raise AssertionError
        try:
            cluster.run(hang)
        except UsageError as error:
            assert "closed" in str(error)
        else:
            raise AssertionError

        try:
            start(workers=9)
        except ClusterStartError as error:
            assert "8 CPU devices, and this cluster needs 9" in str(error), error
        else:
            raise AssertionError
        import os
        os._exit(0)
        """,
        tmp_path,
    )
