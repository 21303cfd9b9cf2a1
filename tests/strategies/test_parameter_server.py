"""TensorFlow 2's parameter servers: a real chief, workers and servers. No update is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import TaskId
from pytest_tfperf.strategies.registry import get
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import train
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.small_workloads import linear_data

CHIEF = TaskId("chief", 0)
STEPS = 20


def trained(name: str, *, workers: int, ps: int = 1, steps: int = STEPS, **options: Any) -> dict[TaskId, Any]:
    layout = get("parameter_server").layout(workers, {"ps": ps})
    return run_tasks(
        layout, train, strategy="parameter_server", name=name, steps=steps, replicas=workers, ps=ps, **options
    )


@pytest.mark.parametrize("rule", ["adam", "rmsprop"])
def test_one_worker_applies_the_rule_computed_by_hand(rule: str) -> None:
    results = trained(f"linear_{rule}", workers=1)
    assert [results[id] for id in results if id != CHIEF] == [None, None]
    kernel, bias = train_by_hand(linear_data(0), rule, STEPS)
    np.testing.assert_allclose(results[CHIEF]["after"][0], kernel, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(results[CHIEF]["after"][1], bias, rtol=1e-3, atol=1e-4)
    assert (results[CHIEF]["updates"], results[CHIEF]["examples"]) == (STEPS, 8)


def test_every_update_of_two_workers_is_counted_and_arrives() -> None:
    # A loss whose gradient is always 1: what the weight comes to says how many updates arrived.
    result = trained("constant_gradient", workers=2, steps=150)[CHIEF]
    assert result["updates"] == 300
    np.testing.assert_allclose(result["after"][0], np.full((1000,), -300.0), rtol=1e-6)
    assert (result["examples"], result["replicas"]) == (16, 2)


def test_a_keras_model_with_split_variables() -> None:
    result = trained("keras_dense", workers=2, ps=2, partitioner=True, params={"width": 20_000})[CHIEF]
    assert result["updates"] == 2 * STEPS
    assert np.isfinite(result["losses"]).all()
    assert all((before != after).any() for before, after in zip(result["before"], result["after"]))
    assert result["after"][0].shape == (8, 20_000)
    # A kernel of 640 kB in two shards, one of 160 kB, two biases, four of the norm, the state of dropout.
    assert result["facts"]["variables"] == "10, 1.2 MB"
