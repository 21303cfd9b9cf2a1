"""Real training in one process: the updates are the optimiser's, whatever kind of model and batch a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import build_errors, compiled_functions, moving_averages, train_each
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.small_workloads import linear_data

WORKER = TaskId("worker", 0)
RULES = ("sgd", "momentum", "adam", "rmsprop")
STEPS = 10
SEVERAL = ("linear_momentum xla=True", "linear_adam xla=False", "piped xla=True", "keras_dense xla=True")


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    names = [*(f"linear_{rule}" for rule in RULES), "linear_scaled", "piped", "keras_dense", "keras_unbuilt"]
    runs = {
        f"{name} xla={xla}": {"strategy": "single", "name": name, "steps": STEPS, "params": {"xla": xla}}
        for name in names
        for xla in (False, True)
    }
    runs["tf_keras_dense"] = {"strategy": "single", "name": "tf_keras_dense", "steps": STEPS}
    runs["tf_keras_unbuilt"] = {"strategy": "single", "name": "tf_keras_unbuilt", "steps": STEPS}
    runs["branching"] = {"strategy": "single", "name": "branching", "steps": STEPS}
    runs["captured"] = {"strategy": "single", "name": "captured", "steps": STEPS}
    for name in SEVERAL:
        options = {**runs[name], "steps": STEPS // 5, "steps_per_call": 5}
        runs |= {f"{name}, five a call": options, f"{name}, packed, five a call": {**options, "pack_variables": True}}
    results: dict[str, Any] = run_tasks(Layout(1), train_each, runs=runs)[WORKER]
    return results


@pytest.mark.parametrize("xla", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_weights_are_those_of_the_rule_computed_by_hand(trained: dict[str, Any], rule: str, xla: bool) -> None:
    kernel, bias = train_by_hand(linear_data(0), rule, STEPS)
    result = trained[f"linear_{rule} xla={xla}"]
    np.testing.assert_allclose(result["after"][0], kernel, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(result["after"][1], bias, rtol=2e-4, atol=1e-5)


def test_updates_are_counted_where_they_are_applied(trained: dict[str, Any]) -> None:
    assert {result["updates"] for result in trained.values()} == {STEPS}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_steps_a_call_train_as_one_by_one_do(trained: dict[str, Any], name: str) -> None:
    for several in (f"{name}, five a call", f"{name}, packed, five a call"):
        # Packed, all of them are one variable.
        found, one = (np.concatenate([part.ravel() for part in trained[key]["after"]]) for key in (several, name))
        np.testing.assert_allclose(found, one, rtol=2e-4, atol=1e-5)
        assert trained[several]["losses"] == pytest.approx(trained[name]["losses"][4::5], rel=1e-4)


def test_loss_scale_changes_nothing_but_the_range_of_gradients(trained: dict[str, Any]) -> None:
    for scaled, plain in zip(trained["linear_scaled xla=True"]["after"], trained["linear_sgd xla=True"]["after"]):
        np.testing.assert_allclose(scaled, plain, rtol=1e-4)


def test_loss_of_the_first_step_is_that_of_the_initial_weights(trained: dict[str, Any]) -> None:
    _, labels = linear_data(0)
    assert trained["linear_sgd xla=False"]["losses"][0] == pytest.approx(float((labels**2).mean()), rel=1e-5)


@pytest.mark.parametrize("xla", [False, True])
def test_a_pipeline_gives_every_step_its_own_batch_and_starts_over(trained: dict[str, Any], xla: bool) -> None:
    features, labels = linear_data(0, examples=12)
    kernel, bias = np.zeros((4, 1)), np.zeros(1)
    for step in range(STEPS):
        rows = slice(4 * (step % 3), 4 * (step % 3) + 4)
        residual = features[rows] @ kernel + bias - labels[rows]
        kernel, bias = kernel - 0.05 * features[rows].T @ residual / 2, bias - 0.1 * residual.mean(axis=0)
    result = trained[f"piped xla={xla}"]
    np.testing.assert_allclose(result["after"][0], kernel, rtol=1e-3)
    assert result["examples"] == 4


def test_a_step_with_xla_is_one_program() -> None:
    runs = {
        "fixed": {"name": "linear_sgd", "xla": True},
        "pipeline": {"name": "piped", "xla": True},
        "batch function": {"name": "captured", "xla": True},
        "without": {"name": "linear_sgd", "xla": False},
    }
    found = run_tasks(Layout(1), compiled_functions, runs=runs)[WORKER]
    assert found["fixed"][0] is True
    assert found["pipeline"] == found["batch function"] == (False, 1)
    assert found["without"] == (False, 0)


@pytest.mark.parametrize(
    "name", ["keras_dense xla=False", "keras_dense xla=True", "tf_keras_dense", "tf_keras_unbuilt"]
)
def test_keras_models_train(trained: dict[str, Any], name: str) -> None:
    result = trained[name]
    assert result["losses"][-1] < 0.7 * result["losses"][0]
    assert (result["examples"], result["replicas"]) == (32, 1)
    assert all((before != after).any() for before, after in zip(result["before"], result["after"]))


def test_a_keras_model_that_is_not_built_yet_and_a_loss_per_example(trained: dict[str, Any]) -> None:
    result = trained["keras_unbuilt xla=True"]
    assert [weights.shape for weights in result["after"]] == [(8, 16), (16,), (16, 2), (2,)]
    assert result["examples"] == 16


def test_a_batch_function_on_tensors_made_before_and_a_list_of_keras_variables(trained: dict[str, Any]) -> None:
    result = trained["captured"]
    assert result["examples"] == 6
    assert result["losses"][-1] < 0.5 * result["losses"][0]


def test_control_flow_over_tensors_in_what_a_user_wrote(trained: dict[str, Any]) -> None:
    for one, other in zip(trained["branching"]["after"], trained["linear_sgd xla=False"]["after"]):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_moving_averages_follow_the_batches() -> None:
    averages = run_tasks(Layout(1), moving_averages, steps=3)[WORKER]
    for before, after in averages.values():
        np.testing.assert_array_equal(before[0], np.zeros(4))
        assert all((b != a).all() for b, a in zip(before, after))


def test_what_cannot_be_a_workload_is_refused_with_the_remedy() -> None:
    said = {
        "returns_pair": "gave a tuple of 2; it must give a tuple (model, loss, batch), or a Workload.",
        "loss_by_name": "its loss must be a function loss(labels, outputs), not 'mse'",
        "nothing_to_train": "has nothing to train: it needs a non-empty attribute `trainable_variables`",
        "frozen_batch": "every step would get this same value: make the batch with TensorFlow ops",
        "ragged_end": "batch the dataset with drop_remainder=True",
        "keras_compiled": "compiled with the optimizer Adam, which no strategy uses",
        "tf_keras_compiled": "compiled with the optimizer SGD, which no strategy uses",
        "batch_of_three": "this one is a tuple of 3",
        "constant_loss": "has no gradient for any of its 2 trainable variables",
        "loss_of_nothing": "loss(labels, outputs) gave nothing; it must give a number for each example, or their mean.",
        "loss_in_words": "loss(labels, outputs) gave text",
        "empty_batch": "has no example in it (features of shape (0, ",
    }
    errors = run_tasks(Layout(1), build_errors, names=list(said), strategy="single")[WORKER]
    for name, text in said.items():
        assert errors[name].startswith("UsageError: ")
        assert text in errors[name]
