"""A worker that comes late, to the cluster and to its timed windows: the time before it came does not count."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.run import TaskRun
from pytest_tfperf.records.task import Layout
from tests.strategies.measured_jobs import ALONE, measure_late

ARM = Arm("linear_sgd", "ps_async", 2, "cpu")
EXAMPLES = 8


@pytest.fixture(scope="module")
def measured(launcher: ClusterLauncher) -> tuple[float, TaskRun, TaskRun]:
    """When worker 1 came, and what workers 0 and 1 of real parameter-server training measured."""
    # Four windows: among so few none is ever an outlier, so that all examples count, however busy the machine is.
    policy = MeasurementPolicy(window_seconds=0.2, windows=4)
    with launcher.start(placements(Layout(2, ps=1))) as cluster:
        results: Any = cluster.run(measure_late, "ps_async", 2, 2.0, policy, timeout=240)
    (_, first), (arrived, second) = results["worker:0"], results["worker:1"]
    return arrived, first, second


def test_nobody_times_a_window_before_the_last_worker_has_come(measured: tuple[float, TaskRun, TaskRun]) -> None:
    arrived, *tasks = measured
    assert all(task.windows[0].start > arrived for task in tasks)


def test_windows_in_which_the_other_worker_was_alone_do_not_count(measured: tuple[float, TaskRun, TaskRun]) -> None:
    _, first, second = measured
    alone, together = first.windows[:ALONE], first.windows[ALONE:]
    assert alone[-1].end <= second.windows[0].start  # or the late worker was not late
    run = aggregate(ARM, 1, [first, second])
    assert (run.start, run.end) == (second.windows[0].start, min(first.windows[-1].end, second.windows[-1].end))
    overlap = run.end - run.start
    inside = sum(
        window.steps * EXAMPLES * max(0.0, min(window.end, run.end) - max(window.start, run.start)) / window.seconds
        for window in (*together, *second.windows)
    )
    assert run.throughput == pytest.approx(inside / overlap)
    # What would be there to count: more examples, and more time.
    assert sum(window.steps for window in (*first.windows, *second.windows)) * EXAMPLES > inside
    assert max(first.windows[-1].end, second.windows[-1].end) - alone[0].start > overlap


def test_the_server_has_the_updates_of_the_uncounted_windows_too(measured: tuple[float, TaskRun, TaskRun]) -> None:
    _, first, second = measured
    assert first.updates == second.updates == first.steps + second.steps
