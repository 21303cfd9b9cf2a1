"""Towers in one process: they train as one process with all their batches would, wherever their variables lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import operations_of_a_step, train_each
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.small_workloads import linear_data

WORKER = TaskId("worker", 0)
STEPS = 10
PLACES = [("cpu", "shared"), ("cpu", "per_tower"), ("reported", "shared"), ("reported", "per_tower")]
PLACES += [("device", "per_tower")]


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    def run(name: str, replicas: int = 2, **more: Any) -> dict[str, Any]:
        return {"strategy": "tower", "name": name, "steps": STEPS, "replicas": replicas, **more}

    runs = {
        f"{variables} {regularizer}": run(
            "linear_by_replica", params={"weight_decay": 0.5}, variables=variables, regularizer=regularizer
        )
        for variables, regularizer in PLACES
    }
    runs |= {
        "alone": run("linear_adam", replicas=1),
        "rmsprop": run("linear_rmsprop"),
        "scaled": run("linear_scaled"),
        "unused": run("smallconv", apply=False, fetch=True, variables="reported", regularizer="shared"),
        "keras": run("keras_dense"),
        "keras copies": run("keras_dense", variables="device"),
        "keras pipeline": run("keras_unbuilt"),
        "tf_keras": run("tf_keras_dense"),
        "normalised": run("normalised", variables="device"),
    }
    results: dict[str, Any] = run_tasks(Layout(1), train_each, runs=runs)[WORKER]
    return results


@pytest.mark.parametrize(("variables", "regularizer"), PLACES)
def test_two_towers_are_one_process_with_both_batches(
    trained: dict[str, Any], variables: str, regularizer: str
) -> None:
    result = trained[f"{variables} {regularizer}"]
    kernel, bias = train_by_hand(linear_data(None), "momentum", STEPS, decay=0.5)
    np.testing.assert_allclose(result["after"][0], kernel, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(result["after"][1], bias, rtol=1e-3, atol=1e-4)
    assert (result["replicas"], result["examples"]) == (2, 16)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("cpu shared", {"variables on /device:CPU:0": "2, 20 B", "L2 terms on /device:CPU:0": "1"}),
        ("reported shared", {"variables on /device:CPU:1": "2, 20 B", "L2 terms on /device:CPU:1": "1"}),
        (
            "cpu per_tower",
            {
                "variables on /device:CPU:0": "2, 20 B",
                "L2 terms on /device:CPU:1": "1",
                "L2 terms on /device:CPU:2": "1",
            },
        ),
        (
            "device per_tower",
            {
                "variables on /device:CPU:1": "2, 20 B",
                "variables on /device:CPU:2": "2, 20 B",
                "L2 terms on /device:CPU:1": "1",
                "L2 terms on /device:CPU:2": "1",
            },
        ),
    ],
)
def test_facts_say_where_variables_and_the_regulariser_lie(
    trained: dict[str, Any], key: str, said: dict[str, str]
) -> None:
    facts = trained[key]["facts"]
    assert {fact: facts[fact] for fact in facts if " on " in fact} == said


@pytest.mark.parametrize(
    ("key", "said"),
    [
        # Two losses, 8 B. Kernel and bias, 20 B, to each tower that has none, and as many bytes of its gradients back.
        # Of a term that is shared, two numbers more to each such tower: the term, and what its gradient needs.
        ("reported shared", "56 B in 8 tensors"),
        ("cpu shared", "104 B in 14 tensors"),
        ("cpu per_tower", "88 B in 10 tensors"),
        # Gradients of each tower to the other.
        ("device per_tower", "48 B in 6 tensors"),
    ],
)
def test_facts_count_what_is_copied_between_devices(trained: dict[str, Any], key: str, said: str) -> None:
    assert trained[key]["facts"]["copies between devices per step"] == said


def test_updates_are_counted(trained: dict[str, Any]) -> None:
    assert {key: result["updates"] for key, result in trained.items()} == dict.fromkeys(trained, STEPS)


def test_gradients_that_are_not_applied_change_nothing(trained: dict[str, Any]) -> None:
    result = trained["unused"]
    for before, after in zip(result["before"], result["after"]):
        np.testing.assert_array_equal(before, after)
    # Gradients of two towers, and the variables once: 3 x 24,122 numbers.
    assert result["facts"]["bytes fetched to Python per step"] == "289.5 kB"


def test_rules_and_a_scaled_loss(trained: dict[str, Any]) -> None:
    for key, rule in (("alone", "adam"), ("rmsprop", "rmsprop"), ("scaled", "sgd")):
        kernel, _ = train_by_hand(linear_data(0), rule, STEPS)
        np.testing.assert_allclose(trained[key]["after"][0], kernel, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("key", ["keras", "keras copies", "keras pipeline", "tf_keras"])
def test_models_train(trained: dict[str, Any], key: str) -> None:
    assert trained[key]["losses"][-1] < 0.8 * trained[key]["losses"][0]


@pytest.mark.parametrize("options", [{"apply": True}, {"apply": False}, {"apply": False, "fetch": True}])
def test_a_step_runs_its_backward_pass_whatever_becomes_of_the_gradients(options: dict[str, bool]) -> None:
    ran: set[str] = run_tasks(Layout(1), operations_of_a_step, name="smallconv", options=options)[WORKER]
    for tower in (1, 2):
        filters = [op for op in ran if "Conv2DBackpropFilter" in op and f"CPU:{tower}" in op]
        assert len(filters) == 3, sorted(ran)
