"""Workers that exchange nothing: each trains as it would alone, on its own batch, and counts its own updates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.errors import MeasurementError
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.run import TaskRun
from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.measured_jobs import train_and_measure
from tests.strategies.small_workloads import linear_data

WORKERS = [TaskId("worker", 0), TaskId("worker", 1)]
STEPS = 10


@pytest.fixture(scope="module", params=[1, 5], ids="{} a call".format)
def results(launcher: ClusterLauncher, request: pytest.FixtureRequest) -> dict[TaskId, Any]:
    """What came of training, and a measurement with so many steps a call, by worker."""

    def run(name: str, **more: Any) -> dict[str, Any]:
        return {"strategy": "independent", "name": name, "steps": STEPS, "replicas": 2, **more}

    runs = {"linear": run("linear_momentum"), "xla": run("linear_adam", params={"xla": True})}
    runs["keras"] = run("keras_dense")
    runs["five a call"] = {**runs["xla"], "steps": STEPS // 5, "steps_per_call": 5}
    policy = MeasurementPolicy(window_seconds=0.1, windows=4)
    with launcher.start(placements(Layout(2))) as cluster:
        options = {"steps_per_call": request.param}
        return dict(cluster.run(train_and_measure, "independent", 2, runs, policy, options, timeout=240))


@pytest.fixture(scope="module")
def trained(results: dict[TaskId, Any]) -> dict[TaskId, Any]:
    return {worker: training for worker, (training, _) in results.items()}


@pytest.mark.parametrize(("key", "rule"), [("linear", "momentum"), ("xla", "adam"), ("five a call", "adam")])
def test_each_worker_trains_on_its_own_batch_alone(trained: dict[TaskId, Any], key: str, rule: str) -> None:
    for worker in WORKERS:
        kernel, bias = train_by_hand(linear_data(worker.index), rule, STEPS)
        np.testing.assert_allclose(trained[worker][key]["after"][0], kernel, rtol=2e-4, atol=1e-5)
        np.testing.assert_allclose(trained[worker][key]["after"][1], bias, rtol=2e-4, atol=1e-5)
    first, second = (trained[worker][key]["after"][0] for worker in WORKERS)
    assert (first != second).any()


def test_each_worker_counts_the_updates_of_its_own_copy(trained: dict[TaskId, Any]) -> None:
    assert {run["updates"] for worker in WORKERS for run in trained[worker].values()} == {STEPS}
    assert {run["replicas"] for worker in WORKERS for run in trained[worker].values()} == {1}
    assert trained[WORKERS[0]]["keras"]["examples"] == 32
    assert trained[WORKERS[0]]["linear"]["facts"]["variables on /device:CPU:0"] == "2, 20 B"


def test_throughput_is_of_all_workers_while_all_run(results: dict[TaskId, Any]) -> None:
    tasks: list[TaskRun] = [results[worker][1] for worker in WORKERS]
    run = aggregate(Arm("linear_sgd", "independent", 2, "cpu"), 1, tasks)
    rates = [sum(w.steps for w in task.windows) * 8 / sum(w.seconds for w in task.windows) for task in tasks]
    # Of both, not of one: windows differ a little in their pace, so this only tells 2 from 1.
    assert run.throughput > max(rates)
    assert [task.updates for task in tasks] == [task.steps for task in tasks]
    for task in tasks:
        paces = [window.seconds / window.steps for window in task.windows]
        assert task.own_step_time is not None
        assert min(paces) <= task.own_step_time <= max(paces)
    with pytest.raises(MeasurementError, match="applied updates where its steps make"):
        aggregate(run.arm, 1, [replace(tasks[0], updates=tasks[0].steps + tasks[1].steps), tasks[1]])
