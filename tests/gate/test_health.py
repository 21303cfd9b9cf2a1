"""A machine that is not quiet, and a rank that is slow by itself: both are seen in real runs, and named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pytest_tfperf import workload
from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.diagnosis.straggler import own_pace_lines, stragglers
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.run import Run, TaskRun
from pytest_tfperf.strategies import registry
from pytest_tfperf.workloads import registry as workloads
from tests.gate.conftest import Gate

pytestmark = pytest.mark.alone

ALONE = """
import pytest

@pytest.mark.tfperf("smallconv", strategy="single", replicas=[1], tolerance=0.4, batch_size=8)
def test_alone(tfperf):
    tfperf.check()
"""

UNEVEN = """
import json, os
import pytest
from pytest_tfperf import workload

@workload("uneven")
def uneven(batch_size=64):
    import tensorflow as tf

    # Worker 1 multiplies its features by a large matrix eight times as often.
    times = 40 if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1 else 5

    class Model(tf.Module):
        def __init__(self):
            self.square = tf.Variable(tf.eye(256))

        def __call__(self, x):
            for _ in range(times):
                x = x @ self.square
            return x

    batch = tf.ones([batch_size, 256]), tf.zeros([batch_size, 256])
    return Model(), lambda y, out: tf.reduce_mean((y - out) ** 2), batch

@pytest.mark.tfperf(uneven, strategy="multi_worker_mirrored", replicas=[2], tolerance=0.4)
def test_uneven(tfperf):
    tfperf.check()
"""


@pytest.fixture
def busy_cores() -> Iterator[None]:
    """A program of somebody else on every core that a test may use."""
    with ExitStack() as stack:
        for core in sorted(os.sched_getaffinity(0)):
            spin = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", spin]))
            stack.callback(process.kill)
        yield


@pytest.mark.usefixtures("busy_cores")
def test_a_busy_machine_is_seen_runs_are_repeated_and_nothing_is_saved(watched: Gate) -> None:
    done = watched.run("--tfperf-save", "--tfperf-rounds=3", suite=ALONE)
    assert done.returncode == 1, done.stdout
    # A sweep has as many repeats as rounds: two for the first run, one for the second, none for the third.
    again = [line for line in done.stdout.splitlines() if "again, it was disturbed: " in line]
    assert len(again) == 3, done.stdout
    assert all("other programs used" in line and "python" in line for line in again)
    assert "tfperf:   failed: not saved: something disturbed runs that count" in done.stdout
    assert "3 runs were disturbed and made again" in done.stdout
    assert watched.baseline_files == []


def test_a_slow_rank_is_named_though_all_show_the_same_step_time(fresh: Gate) -> None:
    done = fresh.run("-v", "--tfperf-rounds=5", suite=UNEVEN)
    assert done.returncode == 0, done.stdout
    assert "Straggler: worker:1 needs" in done.stdout
    assert "Straggler: worker:0" not in done.stdout
    assert "T(2), own step time by rank: worker:0 " in done.stdout


@workload("rows_by_rank")
def rows_by_rank(heavy: int = 1) -> object:
    """Worker 1 has `heavy` times the work of the others, on a batch of as many examples."""
    import json

    import tensorflow as tf

    times = 5 * heavy if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1 else 5
    square = tf.Variable(tf.eye(256))

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.trained = square

        def __call__(self, x: object) -> object:
            for _ in range(times):
                x = x @ self.trained
            return x

    return Model(), lambda y, out: tf.reduce_mean((y - out) ** 2), (tf.ones([512, 256]), tf.zeros([512, 256]))


@pytest.fixture(scope="module")
def launcher() -> Iterator[ClusterLauncher]:
    with ClusterLauncher() as launcher:
        yield launcher


def measured(launcher: ClusterLauncher, strategy: str, heavy: int, rounds: int) -> list[Run]:
    chosen, definition = registry.get(strategy), workloads.get("rows_by_rank")
    options = registry.resolve_options(chosen, {})
    job = Job(
        workload=definition,
        params=workloads.resolve_params(definition, {"heavy": heavy}),
        strategy=strategy,
        options=options,
        device="cpu",
        replicas=2,
        policy=MeasurementPolicy(window_seconds=0.05),
    )
    runs = []
    for number in range(1, rounds + 1):
        # Not pinned: what else runs on this machine then slows both ranks alike.
        with launcher.start(placements(chosen.layout(2, options))) as cluster:
            tasks = [task for task in cluster.run(measure, job, timeout=300).values() if isinstance(task, TaskRun)]
        runs.append(aggregate(Arm("rows_by_rank", strategy, 2, "cpu"), number, tasks))
    return runs


@pytest.mark.parametrize("strategy", ["ps_sync", "ps_async"])
def test_a_slow_worker_of_parameter_servers_is_named(launcher: ClusterLauncher, strategy: str) -> None:
    runs = measured(launcher, strategy, heavy=10, rounds=5)
    (text,) = stragglers(runs)
    assert text.startswith("Straggler: worker:1 needs")


@pytest.mark.parametrize("strategy", ["multi_worker_mirrored", "ps_sync"])
def test_nobody_is_named_on_an_even_cluster(launcher: ClusterLauncher, strategy: str) -> None:
    runs = measured(launcher, strategy, heavy=1, rounds=5)
    assert stragglers(runs) == ()
    (line,) = own_pace_lines(runs)
    assert "worker:0" in line
    assert "worker:1" in line
    # Nothing of it counts: `aggregate` has found as many updates as timed and warm-up steps.
    assert all(task.updates == task.steps for run in runs for task in run.tasks)
