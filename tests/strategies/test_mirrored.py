"""Two replicas of one process that reduce their gradients: they train as one with both batches would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import train_one_of
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.mirrored_jobs import transfers_between_replicas
from tests.strategies.small_workloads import linear_data

STEPS = 10


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    def run(name: str, **more: Any) -> dict[str, Any]:
        return {"strategy": "mirrored", "name": name, "steps": STEPS, "replicas": 2, **more}

    runs = {
        "packed": run("linear_by_replica", params={"weight_decay": 0.5, "xla": True}),
        "list": run("linear_by_replica", pack_gradients=False),
        "five a call": run("linear_by_replica", params={"weight_decay": 0.5, "xla": True}, steps_per_call=5)
        | {"steps": STEPS // 5},
        "in one variable": run("linear_by_replica", pack_variables=True, params={"weight_decay": 0.5, "xla": True}),
        "float16": run("linear_by_replica", compression="float16", params={"xla": True}),
        "rmsprop": run("linear_rmsprop_by_replica", params={"xla": True}),
        "keras": run("keras_dense", params={"xla": True}),
        "normalised": run("normalised"),
    }
    # A process each: a second strategy would use the first one's collective instances again.
    results = run_tasks(Layout(len(runs)), train_one_of, runs=list(runs.values()))
    return {key: results[TaskId("worker", index)] for index, key in enumerate(runs)}


@pytest.mark.parametrize(
    ("key", "rule", "decay"),
    [
        ("packed", "momentum", 0.5),
        ("list", "momentum", 0.0),
        ("five a call", "momentum", 0.5),
        ("rmsprop", "rmsprop", 0.0),
    ],
)
def test_two_replicas_are_one_process_with_both_batches(
    trained: dict[str, Any], key: str, rule: str, decay: float
) -> None:
    kernel, bias = train_by_hand(linear_data(None), rule, STEPS, decay=decay)
    np.testing.assert_allclose(trained[key]["after"][0], kernel, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(trained[key]["after"][1], bias, rtol=1e-3, atol=1e-4)


def test_variables_packed_into_one_train_the_same(trained: dict[str, Any]) -> None:
    (packed,) = trained["in one variable"]["after"]
    kernel, bias = train_by_hand(linear_data(None), "momentum", STEPS, decay=0.5)
    np.testing.assert_allclose(packed, [*kernel.ravel(), *bias.ravel()], rtol=1e-3, atol=1e-4)


def test_a_call_of_several_steps_gives_the_last_ones_loss(trained: dict[str, Any]) -> None:
    one_by_one = trained["packed"]["losses"]
    assert trained["five a call"]["losses"] == pytest.approx(one_by_one[4::5], rel=1e-5)
    assert one_by_one[4] != pytest.approx(one_by_one[0], rel=1e-2)


def test_compressed_gradients_train_the_same_but_for_their_digits(trained: dict[str, Any]) -> None:
    differences = {}
    for key in ("float16", "list"):
        pairs = zip(trained[key]["after"], train_by_hand(linear_data(None), "momentum", STEPS), strict=True)
        differences[key] = max(abs(weights - expected).max() for weights, expected in pairs)
    assert differences["list"] < 1e-5 < differences["float16"] < 5e-3


def test_the_loss_is_the_mean_of_the_replicas(trained: dict[str, Any]) -> None:
    _, labels = linear_data(None)
    assert trained["list"]["losses"][0] == pytest.approx(float((labels**2).mean()), rel=1e-5)


def test_counts(trained: dict[str, Any]) -> None:
    assert {result["updates"] for result in trained.values()} == {STEPS}
    assert (trained["packed"]["replicas"], trained["packed"]["examples"]) == (2, 16)
    assert trained["packed"]["facts"]["variables on /device:CPU:0"] == "2, 20 B"


def test_models_train(trained: dict[str, Any]) -> None:
    assert trained["keras"]["losses"][-1] < 0.8 * trained["keras"]["losses"][0]
    for before, after in zip(trained["normalised"]["before"], trained["normalised"]["after"]):
        assert (before != after).any()


@pytest.mark.parametrize(
    ("given", "reduced"),
    [
        ({}, ["float32"] * 6),
        ({"compression": "float16"}, ["float16"] * 6),
        ({"steps_per_call": 3}, ["float32"] * 6),
        ({"steps_per_call": 3, "pack_variables": True}, ["float32"]),
    ],
)
def test_a_step_whose_collective_is_compiled_moves_nothing_else_between_devices(
    given: dict[str, Any], reduced: list[str]
) -> None:
    found = run_tasks(Layout(1), transfers_between_replicas, **given)[TaskId("worker", 0)]
    assert found["reduced"] == 2 * reduced  # traced once for each replica
    assert found["devices"] == ["CPU:0", "CPU:1"]
    assert found["sends"] == []
    assert 0 < found["loss"] < 2
    assert found["updates"] == given.get("steps_per_call", 1)
