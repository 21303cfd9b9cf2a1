from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tfperf.errors import MeasurementError
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.run import TaskRun, Window
from pytest_tfperf.records.task import TaskId

TWO = Arm("mlp", "ps_async", 2, "cpu")


def worker(index: int, windows: list[tuple[float, float, int]], **changes: object) -> TaskRun:
    steps = 10 + sum(count for _, _, count in windows)
    run = TaskRun(
        task=TaskId("worker", index),
        examples_per_step=32,
        replicas=1,
        warmup=(1.0,) * 10,
        steady=True,
        windows=tuple(Window(*window) for window in windows),
        steps=steps,
        updates=steps,
        updates_are_global=False,
        losses=(1.0,),
        synchronous=False,
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def test_throughput_is_the_whole_jobs_and_step_time_one_replicas() -> None:
    run = aggregate(TWO, 1, [worker(0, [(0, 1, 10)]), worker(1, [(0, 1, 10)])])
    assert run.throughput == pytest.approx(640)
    assert run.step_time == pytest.approx(0.1)


def test_time_in_which_a_worker_is_alone_does_not_count() -> None:
    """Worker 0 was alone, and four times as fast, before worker 1 came: that must not show."""
    early = worker(0, [(0, 10, 400), (10, 20, 100)])
    late = worker(1, [(10, 20, 100)])
    run = aggregate(TWO, 1, [early, late])
    assert run.throughput == pytest.approx(32 * 200 / 10)


def test_a_window_that_reaches_over_the_edge_counts_by_its_part() -> None:
    run = aggregate(TWO, 1, [worker(0, [(0, 4, 40)]), worker(1, [(2, 6, 40)])])
    assert run.throughput == pytest.approx(32 * (20 + 20) / 2)


def test_workers_that_never_ran_together_are_no_measurement() -> None:
    with pytest.raises(MeasurementError, match=r"worker:1 began its timed windows when another .* ended"):
        aggregate(TWO, 1, [worker(0, [(0, 1, 10)]), worker(1, [(2, 3, 10)])])


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_diverged_training_is_no_measurement(loss: float) -> None:
    with pytest.raises(MeasurementError, match=r"loss of worker:1 is (nan|inf) after window 2 of 2"):
        aggregate(TWO, 1, [worker(0, [(0, 1, 10)]), worker(1, [(0, 1, 10)], losses=(1.0, loss))])


def test_updates_of_each_task_must_be_its_steps() -> None:
    with pytest.raises(MeasurementError, match="worker:0 sees 19 applied updates where its steps make 20"):
        aggregate(TWO, 1, [worker(0, [(0, 1, 10)], updates=19), worker(1, [(0, 1, 10)])])


def test_updates_on_a_parameter_server_must_be_all_workers_steps() -> None:
    def pair(updates: int) -> list[TaskRun]:
        return [worker(k, [(0, 1, 10)], updates=updates, updates_are_global=True) for k in range(2)]

    assert aggregate(TWO, 1, pair(40)).throughput > 0
    with pytest.raises(MeasurementError, match="sees 38 applied updates where all workers' steps make 40"):
        aggregate(TWO, 1, pair(38))


def test_a_task_that_drives_several_workers_makes_an_update_of_each_in_a_step() -> None:
    def chief(updates: int) -> list[TaskRun]:
        return [worker(0, [(0, 1, 10)], updates=updates, replicas=2, examples_per_step=64, updates_per_step=2)]

    assert aggregate(TWO, 1, chief(40)).throughput == pytest.approx(640)
    with pytest.raises(MeasurementError, match="sees 39 applied updates where its steps make 40"):
        aggregate(TWO, 1, chief(39))


def test_missing_replicas_are_no_measurement() -> None:
    with pytest.raises(MeasurementError, match="1 replicas trained, the arm asks for 2"):
        aggregate(TWO, 1, [worker(0, [(0, 1, 10)])])


def test_an_unsteady_step_time_is_a_warning_that_names_the_task() -> None:
    run = aggregate(TWO, 1, [worker(0, [(0, 1, 10)]), worker(1, [(0, 1, 10)], steady=False)])
    assert run.warnings == ("worker:1: step time had not settled after 10 warm-up steps",)
