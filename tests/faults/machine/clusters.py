"""A program: starts real clusters of every kind of traffic, and prints what came of them as JSON.

``python -m tests.faults.machine.clusters ISOLATION``
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, Literal, cast

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.records.task import Layout, TaskId


def all_reduce(task: Any) -> float:
    """A sum over workers, by TensorFlow's collectives."""
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    @tf.function(autograph=False)  # type: ignore[untyped-decorator, unused-ignore]
    def summed() -> Any:
        def of_replica() -> Any:
            return tf.distribute.get_replica_context().all_reduce("sum", tf.constant(float(task.id.index + 1)))

        return strategy.run(of_replica)

    return float(summed())


def through_parameter_server(task: Any) -> float:
    """A variable on ps:0 that worker:0 adds to, through TensorFlow's servers."""
    if task.id.type == "ps":
        task.serve()
        return 0.0
    import tensorflow as tf

    task.start_server()
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            variable = tf.compat.v1.get_variable("x", initializer=1.0, use_resource=True)
        added = variable.assign_add(2.0)
        with tf.compat.v1.Session(task.target) as session:
            session.run(variable.initializer)
            return float(session.run(added))


def resolves_localhost() -> bool:
    try:
        socket.getaddrinfo("localhost", 80)
    except OSError:
        return False
    return True


def main(isolation: Literal["auto", "namespace", "host"]) -> None:
    workers, ps = placements(Layout(workers=2)), placements(Layout(workers=1, ps=1))
    with ClusterLauncher(isolation=isolation) as launcher:
        with launcher.start(workers, start_timeout=120) as cluster:
            addresses = cluster.addresses["worker"]
            sums = cluster.run(all_reduce, timeout=120)
        with launcher.start(ps, start_timeout=120) as cluster:
            added = cluster.run(through_parameter_server, timeout=120)[TaskId("worker", 0)]
        print(
            json.dumps(
                {
                    "isolation": launcher.isolation,
                    "addresses": addresses,
                    "sums": sorted(sums.values()),
                    "added": added,
                    "localhost": resolves_localhost(),
                    "cores": len(os.sched_getaffinity(0)),
                }
            )
        )


if __name__ == "__main__":
    main(cast("Literal['auto', 'namespace', 'host']", sys.argv[1]))
