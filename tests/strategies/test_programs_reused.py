"""What XLA compiled for one run is used by the next one, in processes as fresh as ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher, compile_cache, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.records.run import TaskRun
from pytest_tfperf.records.task import Layout, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

QUICK = MeasurementPolicy(window_seconds=0.02, windows=1)


def run(launcher: ClusterLauncher, name: str, replicas: int, *, cached: bool) -> dict[TaskId, TaskRun | None]:
    workload, strategy = workloads.get("smallconv"), strategies.get(name)
    params = workloads.resolve_params(workload, {"xla": True, "batch_size": 2, "width": 4, "image_size": 16})
    options = strategies.resolve_options(strategy, {})
    job = Job(workload, params, name, options, "cpu", replicas, QUICK)
    with launcher.start(placements(strategy.layout(replicas, options)), compile_cache=cached) as cluster:
        return dict(cluster.run(measure, job, timeout=240))


def kept(launcher: ClusterLauncher) -> dict[str, int]:
    """Compiled programs by name, each with when it was written."""
    assert launcher.run_dir is not None
    programs = launcher.run_dir / "compile-cache" / "programs"
    return {path.name: path.stat().st_mtime_ns for path in programs.glob("*")}


def test_the_second_run_compiles_nothing() -> None:
    with ClusterLauncher() as launcher:
        run(launcher, "multi_worker_mirrored", 2, cached=False)
        assert kept(launcher) == {}
        run(launcher, "multi_worker_mirrored", 2, cached=True)
        first = kept(launcher)
        assert len(first) >= 2  # gradients and update at least, of two ranks that compiled at the same time
        assert all(name.endswith(".pb") for name in first)  # none half-written
        again = run(launcher, "multi_worker_mirrored", 2, cached=True)
        assert kept(launcher) == first  # a program that was compiled would have been written, anew or under a new name
        assert all(task and task.updates == task.steps for task in again.values())
        folder = launcher.run_dir
        assert folder is not None
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not Path(folder).exists()


def test_a_flag_that_xla_does_not_know_ends_a_trial_and_no_task(
    launcher: ClusterLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another version of TensorFlow would make of ours."""
    known = compile_cache.FLAGS[0]
    unknown = compile_cache.CacheFlag("XLA_FLAGS", "xla_no_such_flag", "autotuning")
    monkeypatch.setattr(compile_cache, "FLAGS", (known, unknown))

    def compiles(task: Any) -> tuple[float, set[str]]:
        import os

        import tensorflow as tf

        twice = tf.function(lambda: tf.constant(2.0) * 2.0, jit_compile=True)
        return float(twice()), {"TF_XLA_FLAGS", "XLA_FLAGS"} & set(os.environ)

    monkeypatch.delenv("XLA_FLAGS", raising=False)
    with launcher.start(placements(Layout(1)), compile_cache=True) as cluster:
        assert cluster.run(compiles)["worker:0"] == (4.0, {"TF_XLA_FLAGS"})
