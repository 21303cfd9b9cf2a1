"""Where variables of a graph for parameter servers lie, and that a split one is as good as a whole one. No server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_tfperf.records.task import Layout, Task, TaskId
from pytest_tfperf.strategies.placement import placed
from tests.strategies.harness import run_tasks

SHAPES = ((512, 512), (512,), (512, 256), (256,), (300, 512))


def place_everything(task: Task) -> dict[str, Any]:
    import tensorflow as tf

    cluster = tf.train.ClusterSpec({"ps": ["localhost:1", "localhost:2"], "worker": ["localhost:3"]})
    found: dict[str, Any] = {}
    for placement in ("round_robin", "greedy", "partitioned"):
        with tf.Graph().as_default(), placed(placement, 2, "/job:worker/task:0", cluster):
            for shape in SHAPES:
                tf.Variable(tf.zeros(shape))
            variables = tf.compat.v1.global_variables()
            found[placement] = [(int(v.device[-1]), v.shape.num_elements() * 4) for v in variables]
    found["split"] = _use_a_split_variable(cluster)
    return found


def _use_a_split_variable(cluster: Any) -> Any:
    import tensorflow as tf

    start = np.random.default_rng(0).normal(size=(301, 512)).astype("float32")
    with tf.Graph().as_default() as graph:
        with placed("partitioned", 2, "/job:worker/task:0", cluster):
            split = tf.Variable(lambda: start, name="kernel")
        try:
            split.assign(start)
            refused = ""
        except AttributeError as error:
            refused = str(error)
        made = [tf.concat(split.variables, 0), 2.0 * split - 1.0, split @ tf.ones([512, 1]), tf.cast(split, "float16")]
        gradients = tf.gradients(tf.reduce_sum(tf.square(split)), split.variables)
        for operation in graph.get_operations():
            operation._set_device("")  # no servers here
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            values = session.run(made), session.run(gradients)
    return start, tuple(split.shape), len(split.variables), *values, refused


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    result: dict[str, Any] = run_tasks(Layout(1), place_everything)[TaskId("worker", 0)]
    return result


def loads(placements: list[tuple[int, int]]) -> list[int]:
    return [sum(size for server, size in placements if server == each) for each in (0, 1)]


def test_by_default_variables_are_dealt_out_by_count(found: dict[str, Any]) -> None:
    assert [server for server, _ in found["round_robin"]] == [0, 1, 0, 1, 0]
    assert loads(found["round_robin"]) == [2_187_264, 3_072]


def test_greedy_balances_bytes(found: dict[str, Any]) -> None:
    assert [server for server, _ in found["greedy"]] == [0, 1, 1, 1, 1]
    assert loads(found["greedy"]) == [1_048_576, 1_141_760]


def test_partitioned_splits_what_is_large(found: dict[str, Any]) -> None:
    assert len(found["partitioned"]) == 8
    low, high = sorted(loads(found["partitioned"]))
    assert high - low <= 2_048


def test_a_split_variable_reads_as_one_tensor(found: dict[str, Any]) -> None:
    start, shape, pieces, (whole, scaled, product, half), gradients, refused = found["split"]
    assert (shape, pieces) == ((301, 512), 2)
    np.testing.assert_array_equal(whole, start)
    np.testing.assert_allclose(scaled, 2 * start - 1, rtol=1e-6)
    np.testing.assert_allclose(product[:, 0], start.sum(axis=1), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(half, start.astype("float16"))
    np.testing.assert_allclose(np.concatenate(gradients), 2 * start)
    assert "'kernel' is split over parameter servers (placement='partitioned') and has no 'assign'" in refused
