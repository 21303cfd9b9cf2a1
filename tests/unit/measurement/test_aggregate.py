from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def alone(seconds: list[float], steps: int = 10) -> list[tuple[float, float, int]]:
    """Windows of these lengths, one after the other from 0 on."""
    ends = list(accumulate(seconds))
    return [(end - length, end, steps) for end, length in zip(ends, seconds)]


ONE = Arm("mlp", "single", 1, "cpu")


def test_windows_alike_all_count() -> None:
    run = aggregate(ONE, 1, [worker(0, alone([1.0, 1.09, 1.0, 0.98, 1.01]))])
    assert run.throughput == pytest.approx(32 * 50 / 5.08)
    assert run.warnings == ()


@pytest.mark.parametrize("synchronous", [True, False])
def test_a_window_that_stalled_leaves_the_median(synchronous: bool) -> None:
    seconds = [1.0, 1.01, 1.755, 1.0, 0.99]
    run = aggregate(ONE, 3, [worker(0, alone(seconds), synchronous=synchronous)])
    assert run.throughput == pytest.approx(320)
    assert run.step_time == pytest.approx(0.1)
    assert run.warnings == (
        "round 3: 1 of 5 windows took more than 75 % longer than the median; the run's figure is the median of its "
        "windows",
    )


def test_a_window_that_was_too_quick_is_one_too() -> None:
    run = aggregate(ONE, 1, [worker(0, alone([1.0, 1.0, 0.5, 1.0, 1.0]))])
    assert run.throughput == pytest.approx(320)
    assert "1 of 5 windows took more than 50 % less than the median" in run.warnings[0]


def test_outliers_both_ways_are_told_together() -> None:
    run = aggregate(ONE, 1, [worker(0, alone([1.0, 1.0, 0.5, 1.0, 1.0, 2.0, 1.0]))])
    assert "2 of 7 windows lay more than 50 % from the median" in run.warnings[0]


def test_many_unlike_windows_are_two_speeds_and_all_count() -> None:
    run = aggregate(ONE, 1, [worker(0, alone([1.0, 1.0, 2.0, 1.0, 2.0]))])
    assert run.throughput == pytest.approx(32 * 50 / 7)
    assert run.warnings == ()


def test_four_windows_cannot_say_which_is_odd() -> None:
    run = aggregate(ONE, 1, [worker(0, alone([1.0, 1.0, 3.0, 1.0]))])
    assert run.throughput == pytest.approx(32 * 40 / 6)


def test_a_window_within_the_noise_of_the_others_is_none() -> None:
    run = aggregate(ONE, 1, [worker(0, alone([1.0, 1.04, 0.96, 1.17, 0.93]))])
    assert run.throughput == pytest.approx(32 * 50 / 5.1)
    assert run.warnings == ()


def test_a_stall_of_all_who_wait_for_each_other_is_one_window_of_the_job() -> None:
    windows = alone([1.0, 1.0, 2.0, 1.0, 1.0])
    late = [(start + 0.01, end + 0.01, steps) for start, end, steps in windows]
    run = aggregate(TWO, 1, [worker(0, windows, synchronous=True), worker(1, late, synchronous=True)])
    assert run.throughput == pytest.approx(640, rel=0.01)
    assert "1 of 5 windows took more than" in run.warnings[0]


def test_a_stall_of_one_worker_shows_at_its_place_though_others_have_shorter_windows() -> None:
    """Worker 1 stands still for a second; worker 0 has windows of another length, and nothing cancels the second."""
    even = worker(0, alone([0.7] * 10, steps=7))
    stalled = worker(1, alone([1.0, 1.0, 2.0, 1.0, 1.0, 1.0]))
    run = aggregate(TWO, 1, [even, stalled])
    assert run.throughput == pytest.approx(640)
    assert "1 of 6 windows took more than 33 % longer" in run.warnings[0]


def test_what_an_edge_leaves_of_a_window_is_no_window() -> None:
    """Only 0.1 s of the last one lies in the common time, and four windows cannot say that the third is odd."""
    windows = [*alone([1.0, 1.0, 2.0, 1.0]), (5.0, 8.0, 30)]
    run = aggregate(TWO, 1, [worker(0, windows), worker(1, alone([1.275] * 4))])
    assert run.warnings == ()
    assert run.throughput == pytest.approx(32 * (41 + 40) / 5.1)


@given(st.lists(st.floats(min_value=0.01, max_value=100), min_size=1, max_size=12), st.floats(1e-3, 1e3))
def test_the_figure_lies_between_the_slowest_and_the_quickest_window(seconds: list[float], unit: float) -> None:
    run = aggregate(ONE, 1, [worker(0, alone([unit * length for length in seconds]))])
    rates = [320 / (unit * length) for length in seconds]
    assert min(rates) * 0.999999 <= run.throughput <= max(rates) * 1.000001
    assert run.step_time * run.throughput == pytest.approx(32)
