"""A task's own part of a step, run after a training: it computes, and changes nothing that the training made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, Task, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads
from tests.strategies.harness import run_tasks
from tests.strategies.keras_workloads import keras_dense
from tests.strategies.small_workloads import linear_data, linear_sgd

WORKERS = [TaskId("worker", 0), TaskId("worker", 1)]


def train_then_alone(
    task: Task, *, strategy: str, name: str, replicas: int, params: dict[str, Any], options: dict[str, Any], dump: Path
) -> dict[str, Any] | None:
    """Two steps, then the own part as often as the task has an index and one more; and two steps again."""
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={dump / str(task.id)} --xla_dump_hlo_as_text"

    def programs() -> int:
        return len(list(dump.glob(f"{task.id}/*before_optimizations.txt")))

    chosen, definition = strategies.get(strategy), workloads.get(name)
    step = chosen.build(
        task,
        definition,
        workloads.resolve_params(definition, params),
        strategies.resolve_options(chosen, options),
        "cpu",
        replicas,
    )
    if step is None:
        return None

    def all_are_here(point: str) -> None:
        task.exchange(point, None, [TaskId("worker", index) for index in range(len(task.cluster["worker"]))])

    for _ in range(2):
        step.run()
    step.wait()
    all_are_here("trained")
    before, compiled = step.weights(), programs()
    all_are_here("read")
    alone = step.alone()
    if alone is None:
        return {"alone": None}
    for _ in range(1 + task.id.index):
        alone()
    result = {"before": before, "after": step.weights(), "updates": step.updates()}
    result["programs"] = (compiled, programs())
    all_are_here("computed alone")
    for _ in range(2):
        step.run()
    step.wait()
    all_are_here("trained again")
    result["updates at the end"] = step.updates()
    all_are_here("counted")
    return result


def run(tmp_path: Path, layout: Layout, **arguments: Any) -> list[dict[str, Any]]:
    filled = {"params": {}, "options": {}, "dump": tmp_path, **arguments}
    results = run_tasks(layout, train_then_alone, **filled)
    return [results[worker] for worker in WORKERS]


def train_each_then_alone(task: Task, *, runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {key: train_then_alone(task, **arguments) for key, arguments in runs.items()}


def test_multi_worker_mirrored(tmp_path: Path) -> None:
    shared = {"strategy": "multi_worker_mirrored", "name": keras_dense.name, "replicas": 2, "dump": tmp_path}
    runs = {
        "plain": {**shared, "params": {"xla": False}, "options": {"pack_gradients": False}},
        "xla": {**shared, "params": {"xla": True}, "options": {"pack_gradients": True}},
    }
    results = run_tasks(Layout(2), train_each_then_alone, runs=runs)
    for worker in WORKERS:
        for key, result in results[worker].items():
            check(result)
            first, then = result["programs"]
            # Nothing is compiled again: for a large model that takes longer than the run.
            assert first == then
            assert (first > 0) == (key == "xla")


@pytest.mark.parametrize("options", [{"feed": True, "placement": "packed"}, {"placement": "partitioned", "ps": 2}])
def test_ps_sync(tmp_path: Path, options: dict[str, Any]) -> None:
    layout = Layout(2, ps=options.get("ps", 1))
    width = {"width": 20_000} if options.get("placement") == "partitioned" else {}
    for result in run(
        tmp_path, layout, strategy="ps_sync", name=keras_dense.name, replicas=2, params=width, options=options
    ):
        check(result)


def check(result: dict[str, Any]) -> None:
    for one, other in zip(result["before"], result["after"], strict=True):
        np.testing.assert_array_equal(one, other)
    assert result["updates"] == 2
    assert result["updates at the end"] == 4


def test_a_task_without_peers_has_no_such_part(tmp_path: Path) -> None:
    result = run_tasks(
        Layout(1),
        train_then_alone,
        strategy="single",
        name=linear_sgd.name,
        replicas=1,
        params={},
        options={},
        dump=tmp_path,
    )
    assert result == {WORKERS[0]: {"alone": None}}


def one_of_each_gradient(task: Task) -> tuple[Any, Any]:
    import tensorflow as tf

    from pytest_tfperf.strategies.graph_step import _one_of_each

    features, _ = linear_data(0)
    with tf.Graph().as_default():
        kernel, bias = (tf.compat.v1.get_variable(name, shape, use_resource=True) for name, shape in NAMES.items())
        rows = tf.gather(kernel, [2, 0])
        loss = tf.reduce_sum((tf.constant(features) @ kernel + bias) ** 2) + tf.reduce_sum(rows)
        gradients = tf.gradients(loss, [kernel, bias]) + tf.gradients(tf.reduce_sum(rows), [kernel])
        short = _one_of_each(gradients)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            values, dense = session.run([short, gradients[1]])
    return values, dense


def test_the_own_part_computes_all_gradients() -> None:
    """What TensorFlow may leave out because nobody uses it is not left out: each gradient is asked for one value."""
    values, dense = run_tasks(Layout(1), one_of_each_gradient)[WORKERS[0]]
    assert values.shape == (3,)
    assert values[1] == pytest.approx(float(dense.reshape(-1)[0]), rel=1e-5)
    assert values[2] == 1.0


NAMES = {"kernel": [4, 1], "bias": [1]}
