"""Every kind of cluster that a session starts many of; some of them fail on purpose."""

from __future__ import annotations

import functools
import gc
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_tfperf.cluster import ClusterLauncher, on_hosts, placements, start_in_process
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.errors import ClusterTimeoutError, TaskDiedError, TaskFailedError
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import Layout, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

DEADLINE = 300.0
"""Seconds that no cluster comes near, however busy the machine."""
_PAIR = (TaskId("worker", 0), TaskId("worker", 1))

Kind = Callable[[ClusterLauncher], None]


def talk(task: Any) -> int:
    """Without TensorFlow: workers exchange something, anyone else waits for them."""
    if task.id.type != "worker":
        task.wait_for_release()
        return 0
    return len(task.exchange("here", bytes(1000), _PAIR))


def convert(task: Any) -> float:
    """A function with a loop over a tensor, which AutoGraph writes into a file."""
    import tensorflow as tf

    @tf.function  # type: ignore[untyped-decorator, unused-ignore]
    def summed(count):  # type: ignore[no-untyped-def]
        total = tf.constant(0)
        for index in tf.range(count):
            total += index
        return total

    return float(summed(tf.constant(4)))


def plain(launcher: ClusterLauncher) -> None:
    with launcher.start(placements(Layout(workers=2))) as cluster:
        assert set(cluster.run(talk, timeout=DEADLINE).values()) == {2}


def converted(launcher: ClusterLauncher) -> None:
    with launcher.start(placements(Layout(workers=2))) as cluster:
        assert set(cluster.run(convert, timeout=DEADLINE).values()) == {6.0}


def with_ps(launcher: ClusterLauncher) -> None:
    def serve_or_train(task: Any) -> float:
        import tensorflow as tf

        if task.id.type == "ps":
            task.serve()
            return 2.0
        server = task.start_server()
        with tf.Graph().as_default(), tf.device("/job:ps/task:0"), tf.compat.v1.Session(server.target) as session:
            return float(session.run(tf.constant(1.0) + 1.0))

    with launcher.start(placements(Layout(workers=2, ps=1))) as cluster:
        assert set(cluster.run(serve_or_train, timeout=DEADLINE).values()) == {2.0}


def in_process(launcher: ClusterLauncher) -> None:
    def compute(task: Any) -> float:
        import tensorflow as tf

        with tf.Graph().as_default(), tf.device("/job:ps/task:0"), tf.compat.v1.Session(task.target) as session:
            return float(session.run(tf.constant(20.0) + 1.0))

    with start_in_process(placements(Layout(workers=2, ps=1))) as cluster:
        assert set(cluster.run(compute, timeout=DEADLINE, tasks=_PAIR).values()) == {21.0}


def measured(strategy_name: str) -> Kind:
    """A run of the plugin's own, as a gate makes it, but for the shorter windows."""

    def run(launcher: ClusterLauncher) -> None:
        workload, strategy = workloads.get("mlp"), strategies.get(strategy_name)
        small = {"features": 64, "hidden": 64, "outputs": 8, "batch_size": 8}
        params, options = workloads.resolve_params(workload, small), strategies.resolve_options(strategy, {})
        policy = MeasurementPolicy(window_seconds=0.02, windows=2)
        job = Job(workload, params, strategy.name, options, "cpu", 2, policy)
        tasks = placements(strategy.layout(2, options))
        with launcher.start(tasks, compile_cache=True) as cluster:
            assert any(cluster.run(measure, job, timeout=DEADLINE).values())

    return run


def linked(launcher: ClusterLauncher) -> None:
    if reason := launcher.links_unavailable():
        _say_once(f"Links are unavailable: {reason}")
        return
    with launcher.start(on_hosts(placements(Layout(workers=2)), [0, 1]), link=Link.parse("1gbit")) as cluster:
        cluster.start_sampling()
        cluster.run(talk, timeout=DEADLINE)
        assert len(cluster.stop_sampling().hosts) == 2


@functools.cache
def _say_once(text: str) -> None:
    print(text, flush=True)


def fails(error: type[Exception], function: Callable[[Any], object], seconds: float = DEADLINE) -> Kind:
    """A cluster in which worker:1 runs into a fault while the others wait for it."""

    def either(task: Any) -> object:
        return function(task) if task.id.index == 1 else talk(task)

    def run(launcher: ClusterLauncher) -> None:
        try:
            launcher.start(placements(Layout(workers=2))).run(either, timeout=seconds)
        except error:
            gc.collect()  # the traceback holds the cluster
        else:
            raise AssertionError("the cluster has not failed")

    return run


def _raise(task: Any) -> None:
    raise ValueError("on purpose")


def _die(task: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(task: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
    time.sleep(3600)


KINDS: Mapping[str, Kind] = {
    "plain": plain,
    "raises": fails(TaskFailedError, _raise),
    "dies": fails(TaskDiedError, _die),
    "hangs": fails(ClusterTimeoutError, _hang, seconds=1.0),
    "converted": converted,
    "ps": with_ps,
    "in_process": in_process,
    "linked": linked,
    "ring": measured("multi_worker_mirrored"),
    "ps_async": measured("ps_async"),
}
"""The last ones cost most: they are real runs of the plugin."""
LIGHT = ("plain", "raises", "dies", "hangs")
"""Kinds that need no TensorFlow."""


def turns(kinds: Sequence[str], count: int) -> list[str]:
    """The kind of each cluster in turn."""
    return [kinds[index % len(kinds)] for index in range(count)]
