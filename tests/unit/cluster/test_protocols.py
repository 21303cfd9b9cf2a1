"""Real classes and their protocols: mypy is the test, running it only shows that the names are there."""

from __future__ import annotations

from pytest_tfperf.cluster import Cluster, ClusterTask, InProcessCluster, MultiProcessCluster
from pytest_tfperf.cluster.task import ProcessTask
from pytest_tfperf.cluster.thread_task import InProcessTask


def _clusters(one: MultiProcessCluster, other: InProcessCluster) -> tuple[Cluster, ...]:
    return one, other


def _tasks(one: ProcessTask, other: InProcessTask) -> tuple[ClusterTask, ...]:
    return one, other


def test_both_backends_offer_the_same() -> None:
    for real in (MultiProcessCluster, InProcessCluster):
        assert {"tasks", "placements", "addresses", "run", "close", "__enter__", "__exit__"} <= set(dir(real))
