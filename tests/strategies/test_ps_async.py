"""A real parameter server and real workers: every update arrives, and none is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import graph_state, train
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.small_workloads import linear_data

CHIEF, OTHER, SERVER = TaskId("worker", 0), TaskId("worker", 1), TaskId("ps", 0)
STEPS = 25


def trained(name: str, workers: int = 2) -> dict[TaskId, Any]:
    return run_tasks(Layout(workers, ps=1), train, strategy="ps_async", name=name, steps=STEPS)


def test_the_server_counts_the_updates_of_all_workers_and_trains_one_model() -> None:
    results = trained("linear_sgd")
    assert results[SERVER] is None
    assert [results[worker]["updates"] for worker in (CHIEF, OTHER)] == [2 * STEPS, 2 * STEPS]
    for one, other in zip(results[CHIEF]["after"], results[OTHER]["after"]):
        np.testing.assert_array_equal(one, other)
    features, labels = linear_data(None)
    kernel, bias = results[CHIEF]["after"]
    error = float(((features @ kernel + bias - labels) ** 2).mean())
    assert error < 0.15 * float((labels**2).mean())


@pytest.mark.parametrize("rule", ["adam", "rmsprop"])
def test_one_worker_alone_applies_the_rule_computed_by_hand(rule: str) -> None:
    result = trained(f"linear_{rule}", workers=1)[CHIEF]
    kernel, bias = train_by_hand(linear_data(0), rule, STEPS)
    np.testing.assert_allclose(result["after"][0], kernel, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(result["after"][1], bias, rtol=1e-3, atol=1e-4)
    assert result["updates"] == STEPS


def test_a_keras_model_runs_in_the_old_graph_mode() -> None:
    results = trained("keras_dense")
    assert results[CHIEF]["updates"] == 2 * STEPS
    assert results[CHIEF]["losses"][-1] < 0.7 * results[CHIEF]["losses"][0]
    assert results[OTHER]["examples"] == 32


@pytest.mark.parametrize("name", ["keras_unbuilt", "piped", "tf_keras_dense"])
def test_pipelines_and_keras_models_of_one_worker(name: str) -> None:
    result = trained(name, workers=1)[CHIEF]
    assert result["losses"][-1] < 0.7 * result["losses"][0]
    assert result["updates"] == STEPS


def test_moving_averages_are_written_and_variables_dealt_out_over_the_servers() -> None:
    (mean, variance), devices = run_tasks(Layout(1, ps=2), graph_state, steps=5, ps=2)[CHIEF]
    assert (mean != 0).all()
    assert (variance != 1).all()
    # In the order they are made: kernel 0, gamma 1, beta 0, the two moving averages, head's kernel 1, its bias 0.
    assert devices == [f"/job:ps/task:{server}" for server in (0, 1, 0, 1, 0)]
