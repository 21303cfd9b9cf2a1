"""Two real ranks that reduce their gradients over the network: they train as one process with both batches would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import train, train_each
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.small_workloads import linear_data

RANKS = [TaskId("worker", 0), TaskId("worker", 1)]
STEPS = 8
LEAST_OF_HALF = 3e-6
"""What the weights of a training in half precision differ by at least; those in single differ by 2e-7."""


@pytest.fixture(scope="module")
def trained() -> dict[TaskId, Any]:
    def run(name: str, **more: Any) -> dict[str, Any]:
        return {"strategy": "multi_worker_mirrored", "name": name, "steps": STEPS, **more}

    runs = {
        "sgd": run("linear_sgd"),
        "momentum": run("linear_momentum", params={"xla": True}),
        "adam": run("linear_adam", pack_gradients=False),
        "rmsprop": run("linear_rmsprop", params={"xla": True}),
        "scaled": run("linear_scaled", pack_gradients=False, params={"xla": True}),
        "float16": run("linear_scaled", compression="float16", params={"xla": True}),
        "bfloat16": run("linear_sgd", compression="bfloat16", pack_gradients=False),
        "float16, packed, four a call": run(
            "linear_sgd", compression="float16", pack_variables=True, steps_per_call=4, params={"xla": True}
        )
        | {"steps": STEPS // 4},
        "four a call": run("linear_sgd", steps_per_call=4) | {"steps": STEPS // 4},
        "keras": run("keras_dense"),
        "keras xla": run("keras_dense", params={"xla": True}),
        "tf_keras": run("tf_keras_dense"),
        "pipeline": run("keras_unbuilt"),
        "function": run("normalised", params={"xla": True}),
        "branching": run("branching"),
    }
    results: dict[TaskId, Any] = run_tasks(Layout(2), train_each, runs=runs)
    return results


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("sgd", "sgd"),
        ("momentum", "momentum"),
        ("adam", "adam"),
        ("rmsprop", "rmsprop"),
        ("scaled", "sgd"),
        ("four a call", "sgd"),
        ("branching", "sgd"),
    ],
)
def test_two_ranks_are_one_process_with_both_batches(trained: dict[TaskId, Any], key: str, rule: str) -> None:
    kernel, bias = train_by_hand(linear_data(None), rule, STEPS)
    for rank in RANKS:
        np.testing.assert_allclose(trained[rank][key]["after"][0], kernel, rtol=2e-4, atol=1e-5)
        np.testing.assert_allclose(trained[rank][key]["after"][1], bias, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(
    "key",
    [
        "sgd",
        "momentum",
        "adam",
        "rmsprop",
        "scaled",
        "float16",
        "bfloat16",
        "keras",
        "keras xla",
        "tf_keras",
        "pipeline",
        "function",
        "branching",
    ],
)
def test_ranks_start_and_end_with_the_same_weights(trained: dict[TaskId, Any], key: str) -> None:
    first, second = (trained[rank][key] for rank in RANKS)
    for when in ("before", "after"):
        for one, other in zip(first[when], second[when]):
            np.testing.assert_array_equal(one, other)
    assert any((before != after).any() for before, after in zip(first["before"], first["after"]))


@pytest.mark.parametrize(
    ("key", "digits"), [("float16", 2e-3), ("bfloat16", 1e-2), ("float16, packed, four a call", 2e-3)]
)
def test_compressed_gradients_train_the_same_but_for_their_digits(
    trained: dict[TaskId, Any], key: str, digits: float
) -> None:
    weights, expected = (
        np.concatenate([part.ravel() for part in parts])
        for parts in (trained[RANKS[0]][key]["after"], train_by_hand(linear_data(None), "sgd", STEPS))
    )
    np.testing.assert_allclose(weights, expected, rtol=digits, atol=digits)
    assert abs(weights - expected).max() > LEAST_OF_HALF


def test_each_rank_counts_its_own_updates_and_loss(trained: dict[TaskId, Any]) -> None:
    assert {run["updates"] for rank in RANKS for run in trained[rank].values()} == {STEPS}
    for rank in RANKS:
        _, labels = linear_data(rank.index)
        assert trained[rank]["sgd"]["losses"][0] == pytest.approx(float((labels**2).mean()), rel=1e-5)


def test_keras_models_train(trained: dict[TaskId, Any]) -> None:
    for key in ("keras", "keras xla", "tf_keras"):
        losses = trained[RANKS[0]][key]["losses"]
        assert losses[-1] < losses[0]


def test_one_rank_alone() -> None:
    layout = Layout(1)
    result = run_tasks(layout, train, strategy="multi_worker_mirrored", name="linear_sgd", steps=STEPS)[RANKS[0]]
    kernel, _ = train_by_hand(linear_data(0), "sgd", STEPS)
    np.testing.assert_allclose(result["after"][0], kernel, rtol=2e-4, atol=1e-5)
    assert result["updates"] == STEPS
