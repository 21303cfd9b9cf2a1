"""Compressed gradients on a real line between two hosts: half the bytes cross it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher, on_hosts
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import Layout
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.strategies.compression import Compression
from pytest_tfperf.workloads import registry as workloads
from tests.cluster.processes import workers
from tests.strategies.harness import FakeTask, run_tasks
from tests.strategies.jobs import train

STEPS = 20
HIDDEN = 512
FLOATS = 256 * HIDDEN + HIDDEN + HIDDEN**2 + HIDDEN + HIDDEN * 256 + 256
"""Parameters of the workload `mlp` with so many hidden units."""


def _train(task: Any, kind: str) -> Any:
    return train(
        task, strategy="multi_worker_mirrored", name="mlp", steps=STEPS, replicas=2,
        params={"hidden": HIDDEN}, compression=kind,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sent() -> Mapping[str, int]:
    """Bytes that rank 0 sends in a training, by the kind of compression."""
    found = {}
    with ClusterLauncher() as launcher:
        if reason := launcher.links_unavailable():
            pytest.skip(reason)
        for kind in ("none", "float16", "bfloat16"):
            with launcher.start(on_hosts(workers(2), [0, 1]), link=Link.parse("2gbit")) as cluster:
                results = cluster.run(_train, kind, timeout=240)
                found[kind] = cluster.traffic().hosts[0].sent
            losses = results["worker:0"]["losses"]
            assert losses[-1] < losses[0]
    return found


def test_uncompressed_gradients_cross_as_they_are(sent: Mapping[str, int]) -> None:
    # A ring of two: each rank sends a half twice. Once more at the start, the variables.
    assert 4 * FLOATS * STEPS <= sent["none"] < 1.2 * 4 * FLOATS * (STEPS + 1)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_the_bytes_cross(sent: Mapping[str, int], kind: str) -> None:
    assert 0.45 * sent["none"] < sent[kind] < 0.6 * sent["none"]


def _sum_of_four(task: Any) -> list[float]:
    import tensorflow as tf

    gradient = tf.constant([60_000.0, 1.0])
    total = tf.add_n([Compression("float16", 4).compressed(gradient) for _ in range(4)])
    return [float(value) for value in total]


def test_the_sum_of_large_gradients_does_not_overflow() -> None:
    (found,) = run_tasks(Layout(1), _sum_of_four).values()
    assert found == pytest.approx([60_000.0, 1.0], rel=1e-3)
    assert (Compression("float16", 4).divisor, Compression("none", 4).divisor) == (1, 4)


@pytest.mark.parametrize(
    ("strategy", "instead"), [("multi_worker_mirrored", "communication='ring'"), ("mirrored", "collective='compiled'")]
)
def test_what_nccl_has_not_is_said_before_a_step_is_built(strategy: str, instead: str) -> None:
    chosen, definition = strategies.get(strategy), workloads.get("mlp")
    given = strategies.resolve_options(chosen, {"compression": "bfloat16"})
    with pytest.raises(UsageError, match=f"NCCL has no bfloat16; take compression='float16', or {instead}"):
        chosen.build(FakeTask.local(), definition, workloads.resolve_params(definition, {}), given, "gpu", 2)


def test_none_leaves_gradients_alone() -> None:
    gradient = object()
    assert Compression("none", 4).compressed(gradient) is gradient
