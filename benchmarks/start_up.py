"""Seconds from asking for a cluster to its first result, four ways, and where the time before a timed step goes.

    python benchmarks/start_up.py [--rounds 3] [--tasks 1 2 4 8]

Ways: tasks forked from the zygote, fresh interpreters, and what TensorFlow's own tests use, `multi_process_runner` (the
function runs in each task) and `create_multi_process_cluster` (the tasks only serve; the function's operation is sent
to each). These two need the packages dill and portpicker. All take turns within a round. TensorFlow's import in the
process that asks, made once a session, is not counted in any way. The second table has what a run of smallconv takes
until its first timed step.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.clock import MonotonicClock
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.records.task import Layout
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

_DEADLINE = 600
"""Seconds that one start may take."""


def first_operation(task: Any = None) -> float:
    """What a task does first: one operation on its device."""
    import tensorflow as tf

    return float(tf.reduce_sum(tf.ones([2, 2])))


def ours(launcher: ClusterLauncher, tasks: int) -> float:
    started = time.monotonic()
    with launcher.start(placements(Layout(workers=tasks)), start_timeout=_DEADLINE) as cluster:
        cluster.run(first_operation)
        return time.monotonic() - started


def theirs(way: str, tasks: int) -> float:
    """Measured in a process of its own: TensorFlow can connect to one cluster in its life."""
    command = [sys.executable, __file__, "--one", way, "--tasks", str(tasks)]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True) as process,
    ):
        assert process.stdout is not None
        timer = threading.Timer(_DEADLINE, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                if line.startswith("seconds "):
                    return float(line.split()[1])
        finally:
            timer.cancel()
            # A cluster of theirs does not end with its test, which can also wait for ever.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        log.seek(0)
        sys.exit(f"{way} with {tasks} tasks gave no result:\n{log.read()[-3000:]}")


def with_tensorflow(way: str, tasks: int) -> float:
    import tensorflow as tf
    from tensorflow.python.distribute import multi_process_lib, multi_process_runner, multi_worker_test_base

    # Its own `test_main` looks for a binary of Bazel's; all it is needed for here is to have been called.
    multi_process_lib._test_main_called = True
    del sys.argv[1:]  # its processes would take our options for their own
    started = time.monotonic()
    if way == "multi_process_runner":
        spec = multi_worker_test_base.create_cluster_spec(num_workers=tasks)
        multi_process_runner.run(first_operation, spec)
        return time.monotonic() - started
    cluster = multi_worker_test_base.create_multi_process_cluster(num_workers=tasks, num_ps=0, rpc_layer="grpc")
    tf.config.experimental_connect_to_cluster(cluster.cluster_resolver.cluster_spec(), job_name="client")
    for index in range(tasks):
        with tf.device(f"/job:worker/task:{index}"):
            first_operation()
    return time.monotonic() - started


def starts(rounds: int, counts: list[int], zygote: ClusterLauncher, spawn: ClusterLauncher) -> None:
    ways: dict[str, Callable[[int], float]] = {
        "zygote": lambda tasks: ours(zygote, tasks),
        "spawn": lambda tasks: ours(spawn, tasks),
        "multi_process_runner": lambda tasks: theirs("multi_process_runner", tasks),
        "create_multi_process_cluster": lambda tasks: theirs("create_multi_process_cluster", tasks),
    }
    print(f"seconds to the first result, medians of {rounds} rounds, and times the zygote's of the same round")
    for tasks in counts:
        found: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds):
            for way in ways if number % 2 else reversed(ways):
                found[way].append(ways[way](tasks))
        for way, seconds in found.items():
            ratio = median(b / a for a, b in zip(found["zygote"], seconds, strict=True))
            print(f"{tasks} tasks  {way:30} {median(seconds):7.2f} s  {ratio:6.1f} x", flush=True)


def phases(launcher: ClusterLauncher, tasks: int) -> dict[str, float]:
    """Of the task that needed longest."""
    workload, strategy = workloads.get("smallconv"), strategies.get("multi_worker_mirrored")
    params, options = workloads.resolve_params(workload, {}), strategies.resolve_options(strategy, {})
    asked = MonotonicClock().now()
    job = Job(workload, params, strategy.name, options, "cpu", tasks, MeasurementPolicy(windows=1), asked=asked)
    with launcher.start(placements(strategy.layout(tasks, options)), start_timeout=_DEADLINE) as cluster:
        results = cluster.run(measure, job, timeout=_DEADLINE)
    measured = [dict(run.phases) for run in results.values() if run is not None]
    return max(measured, key=lambda each: sum(each.values()))


def splits(rounds: int, counts: list[int], zygote: ClusterLauncher, spawn: ClusterLauncher) -> None:
    print("seconds to the first timed step of smallconv under multi_worker_mirrored, medians, by phase")
    for tasks in counts:
        found: dict[str, list[dict[str, float]]] = {"zygote": [], "spawn": []}
        for _ in range(rounds):
            found["zygote"].append(phases(zygote, tasks))
            found["spawn"].append(phases(spawn, tasks))
        for way, each in found.items():
            split = "  ".join(f"{name} {median(one[name] for one in each):.2f}" for name in each[0])
            total = median(sum(one.values()) for one in each)
            print(f"{tasks} tasks  {way:7} {total:7.2f} s | {split}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print("seconds", with_tensorflow(options.one, options.tasks[0]), flush=True)
        return
    if missing := [package for package in ("dill", "portpicker") if find_spec(package) is None]:
        parser.error(f"TensorFlow's own ways need packages that are not installed: pip install {' '.join(missing)}")
    with ClusterLauncher(launcher="zygote") as zygote, ClusterLauncher(launcher="spawn") as spawn:
        zygote.wait_until_warm(_DEADLINE)
        print(f"the zygote's import: {zygote.import_seconds:.1f} s, once a session")
        starts(options.rounds, options.tasks, zygote, spawn)
        splits(options.rounds, options.tasks, zygote, spawn)


if __name__ == "__main__":
    main()
