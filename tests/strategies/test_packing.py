"""Variables packed into one a server: the same training, in fewer transfers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import build_errors, train
from tests.strategies.keras_workloads import keras_state
from tests.strategies.linear_reference import train_by_hand
from tests.strategies.packing_jobs import (
    pack_what_writes_in_a_condition,
    train_in_functions,
    train_with_state,
    use_as_an_object,
    use_as_tensors,
)
from tests.strategies.small_workloads import linear_data

WORKERS = [TaskId("worker", 0), TaskId("worker", 1)]
STEPS = 12


def trained(servers: int, placement: str) -> dict[str, Any]:
    found = run_tasks(Layout(1, ps=servers), train_with_state, steps=STEPS, ps=servers, placement=placement)
    result: dict[str, Any] = found[WORKERS[0]]
    return result


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return trained(1, "round_robin")


@pytest.mark.parametrize("servers", [1, 2])
def test_packed_variables_train_as_whole_ones_do(whole: dict[str, Any], servers: int) -> None:
    packed = trained(servers, "packed")
    np.testing.assert_allclose(packed["losses"], whole["losses"], rtol=1e-4)
    assert whole["losses"][-1] < 0.8 * whole["losses"][0]
    for kind in ("weights", "state"):
        assert [each.shape for each in packed[kind]] == [each.shape for each in whole[kind]]
        for one, other in zip(packed[kind], whole[kind], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    assert (whole["state"][0] != 0).all()
    assert packed["updates"] == whole["updates"] == STEPS
    # Weights 20, 12, 4, 4, and two moving averages of 4: as many bytes, in two tensors a server each way.
    assert whole["facts"]["bytes pulled per step and worker"] == "192 B in 6 tensors"
    assert packed["facts"]["bytes pulled per step and worker"] == f"192 B in {2 * servers} tensors"
    assert packed["facts"]["bytes pushed per step and worker"].endswith(f"in {2 * servers} tensors")
    assert packed["facts"]["max/mean bytes of a server"] == {1: "1.00", 2: "1.00"}[servers]


def test_two_synchronous_workers_with_packed_variables_are_one_process_with_both_batches() -> None:
    options: dict[str, Any] = {"strategy": "ps_sync", "name": "linear_decayed", "replicas": 2, "placement": "packed"}
    results = run_tasks(Layout(2, ps=1), train, steps=STEPS, **options)
    kernel, bias = train_by_hand(linear_data(None), "momentum", STEPS, decay=0.5)
    for worker in WORKERS:
        np.testing.assert_allclose(results[worker]["after"][0], kernel, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(results[worker]["after"][1], bias, rtol=1e-3, atol=1e-4)
        assert results[worker]["updates"] == STEPS
        assert results[worker]["facts"]["variables on /job:ps/task:0"] == "1, 20 B"


def test_updates_of_two_asynchronous_workers_are_all_counted() -> None:
    options: dict[str, Any] = {"strategy": "ps_async", "name": "keras_dense", "replicas": 2, "placement": "packed"}
    results = run_tasks(Layout(2, ps=1), train, steps=STEPS, **options)
    assert [results[worker]["updates"] for worker in WORKERS] == [2 * STEPS, 2 * STEPS]
    assert results[WORKERS[0]]["losses"][-1] < results[WORKERS[0]]["losses"][0]


@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        (1, {"strategy": "single"}),
        (2, {"strategy": "multi_worker_mirrored"}),
        (2, {"strategy": "multi_worker_mirrored", "steps_per_call": 3}),
        (1, {"strategy": "mirrored", "replicas": 2, "name": "fixed_norm_by_replica"}),
        (1, {"strategy": "mirrored", "replicas": 2, "name": "fixed_norm_by_replica", "steps_per_call": 3}),
    ],
)
def test_a_compiled_step_takes_one_variable_for_many_and_trains_the_same(ranks: int, options: dict[str, Any]) -> None:
    whole = run_tasks(Layout(ranks), train_in_functions, steps=STEPS, **options)
    packed = run_tasks(Layout(ranks), train_in_functions, steps=STEPS, pack_variables=True, **options)
    for worker in WORKERS[:ranks]:
        one, other = packed[worker], whole[worker]
        np.testing.assert_allclose(one["losses"], other["losses"], rtol=1e-4)
        for kind in ("weights", "state"):
            assert [each.shape for each in one[kind]] == [each.shape for each in other[kind]]
            for mine, theirs in zip(one[kind], other[kind], strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5)
        assert (one["state"][0] != 0).all()
        if options["strategy"] == "mirrored":
            for first, second in zip(one["weights"][::2], one["weights"][1::2], strict=True):
                np.testing.assert_array_equal(first, second, err_msg="replicas have the same weights")
            assert (one["state"][0] != one["state"][1]).all(), "and averages of their own"
        assert one["updates"] == other["updates"] == STEPS
        assert (one["arguments"], other["arguments"]) == (1, 4)
    assert whole[WORKERS[0]]["losses"][-1] < 0.8 * whole[WORKERS[0]]["losses"][0]


@pytest.mark.parametrize("model", ["keras_dense", "keras_unbuilt", "tf_keras_dense"])
@pytest.mark.parametrize(("strategy", "ranks"), [("multi_worker_mirrored", 2), ("mirrored", 1)])
def test_keras_models_are_packed_too(strategy: str, ranks: int, model: str) -> None:
    look = keras_state if model == "tf_keras_dense" else None
    options: dict[str, Any] = {"strategy": strategy, "name": model, "replicas": 2, "look": look}
    whole, packed = (run_tasks(Layout(ranks), train, steps=4, pack_variables=used, **options) for used in (False, True))
    for worker in WORKERS[:ranks]:
        np.testing.assert_allclose(packed[worker]["losses"], whole[worker]["losses"], rtol=1e-4)
        assert packed[worker]["updates"] == 4
        assert len(packed[worker]["after"]) < len(whole[worker]["after"])
        if look is not None:
            for mine, theirs in zip(packed[worker]["seen"], whole[worker]["seen"], strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-6)
                assert (mine != 0).all()


def test_a_model_of_tf_keras_is_packed_behind_a_server() -> None:
    options: dict[str, Any] = {"strategy": "ps_async", "name": "tf_keras_dense", "steps": 12}
    whole, packed = (
        run_tasks(Layout(1, ps=1), train, placement=placement, **options)[WORKERS[0]]
        for placement in ("round_robin", "packed")
    )
    assert packed["losses"][-1] < packed["losses"][0]
    assert packed["updates"] == 12
    # Moving averages too: whole ones tf_keras updates where they lie.
    assert whole["facts"]["bytes pulled per step and worker"] == "840 B in 6 tensors"
    assert packed["facts"]["bytes pulled per step and worker"] == "968 B in 4 tensors"


def test_a_slice_that_is_written_in_a_condition_is_told_of() -> None:
    found = run_tasks(Layout(1), pack_what_writes_in_a_condition)[WORKERS[0]]
    assert found.startswith("UsageError: Variable 'average")
    assert "is written inside a condition, a loop or a tf.function of the model" in found


def test_a_slice_is_used_as_a_variable_is() -> None:
    found = run_tasks(Layout(1), use_as_tensors)[WORKERS[0]]
    for use, (part, whole) in found.items():
        for mine, theirs in zip(part, whole, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=use)
    assert len(found) == 24
    told = run_tasks(Layout(1), use_as_an_object)[WORKERS[0]]
    assert told["found"] == [True, False, None, False, True, False]
    assert told["rows"] == [[1.0] * 3] * 2
    assert told["copied"] == "one"


@pytest.mark.parametrize(
    ("strategy", "servers", "option"),
    [
        ("single", 0, {"pack_variables": True}),
        ("multi_worker_mirrored", 0, {"pack_variables": True}),
        ("mirrored", 0, {"pack_variables": True}),
        ("ps_async", 1, {"placement": "packed"}),
    ],
)
def test_what_a_model_does_not_train_is_not_packed_with_what_it_does(
    strategy: str, servers: int, option: dict[str, Any]
) -> None:
    layout = Layout(1, ps=servers)
    errors = run_tasks(layout, build_errors, names=["half_frozen"], strategy=strategy, **option)[WORKERS[0]]
    assert errors["half_frozen"].startswith("UsageError: Variable 'backbone")
    assert errors["half_frozen"].endswith("make it with trainable=False, or leave variables unpacked.")
