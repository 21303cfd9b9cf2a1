"""A cluster of many more tasks than cores: it starts, its tasks meet, and it ends as a small one does."""

from __future__ import annotations

import os
from typing import Any

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.records.task import TaskId
from tests.cluster.processes import is_gone, workers

TASKS = 32


def test_thirty_two_tasks_start_meet_and_end(launcher: ClusterLauncher) -> None:
    """Their processes, descriptors and files are looked for after the test, as after every other."""

    def meet(task: Any, count: int) -> tuple[float, int, int]:
        import tensorflow as tf

        everyone = [TaskId("worker", index) for index in range(count)]
        indices = task.exchange("index", task.id.index, everyone)
        total = float(tf.reduce_sum(tf.constant([float(index) for index in indices.values()])))
        # Once more, with as much as the tasks of a run send in all: no task may be in the others' way.
        sizes = task.exchange("bytes", bytes(100_000), everyone)
        return total, sum(map(len, sizes.values())), os.getpid()

    with launcher.start(workers(TASKS), start_timeout=300) as cluster:
        results = cluster.run(meet, TASKS, timeout=300)
        namespace = {os.readlink(f"/proc/{pid}/ns/net") for pid in cluster.pids.values()}
    assert [str(id) for id in results] == [f"worker:{index}" for index in range(TASKS)]
    assert {result[:2] for result in results.values()} == {(TASKS * (TASKS - 1) / 2, TASKS * 100_000)}
    pids = {pid for _, _, pid in results.values()}
    assert len(pids) == TASKS
    assert all(is_gone(pid) for pid in pids)
    assert len(namespace) == 1, "the tasks of a cluster share a network"
