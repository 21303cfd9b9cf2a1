"""One definition serves every strategy: each family of models, Keras 3 and tf_keras, on a real cluster of each."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.strategies import registry as strategies
from tests.strategies import jobs, keras_workloads

STRATEGIES = strategies.names()
STEPS = 2
TINY_IMAGES: dict[str, Any] = {"batch_size": 2, "classes": 10, "width": 0.125}
FAMILIES: dict[str, dict[str, Any]] = {
    "mlp": {"batch_size": 8, "hidden": 32},
    "smallconv": {"batch_size": 4, "image_size": 8, "width": 4},
    "alexnet": {**TINY_IMAGES, "image_size": 64},
    "resnet110": {"batch_size": 4, "depth": 8, "width": 0.5, "input": "synthetic"},
    "inception_resnet_v1": {**TINY_IMAGES, "image_size": 75, "depth": 1},
    # ResNet-50's own class, with stages of 1, 1, 4 and 1 blocks.
    "resnet152": {**TINY_IMAGES, "image_size": 32, "precision": "float32", "xla": False, "blocks": 0.1},
    "inception_v3": {**TINY_IMAGES, "image_size": 75},
    "gpt2": {"batch_size": 2, "sequence": 8, "layers": 1, "width": 16, "heads": 2, "vocabulary": 50, "xla": False},
}
DEEP = {"resnet152", "inception_v3", "inception_resnet_v1", "gpt2"}
"""Their graphs take many times as long to make as a step takes, on whatever machine."""
MAKES_ITS_OWN = {"multi_worker_mirrored", "ps_sync", "parameter_server"}
"""Of the strategies that make a step in the same way, one: `independent` and `single` are trained in
test_model_families, `mirrored` has the functions of `multi_worker_mirrored`, `ps_async` and `tower` the graph of
`ps_sync`."""
AS_REPORTED = ("tower", "inception_resnet_v1")
"""A public report's, which `perf_tests` measures."""
PAIRS = [(s, w) for w in FAMILIES for s in STRATEGIES if w not in DEEP or s in MAKES_ITS_OWN or (s, w) == AS_REPORTED]


def _train(launcher: ClusterLauncher, strategy: str, workload: str, params: Any, **more: Any) -> list[Any]:
    """What came of training two replicas (of `single` one) in each task that trains."""
    chosen, replicas = strategies.get(strategy), _replicas(strategy)

    def train(task: Any) -> Any:
        keras_workloads.remember_keras_models()
        return jobs.train(task, strategy=strategy, name=workload, steps=STEPS, replicas=replicas, params=params, **more)

    with launcher.start(placements(chosen.layout(replicas, chosen.options))) as cluster:
        return [result for result in cluster.run(train, timeout=240).values() if result is not None]


def _replicas(strategy: str) -> int:
    return 1 if strategy == "single" else 2


def _assert_trained(strategy: str, results: list[Any]) -> None:
    replicas, chosen = _replicas(strategy), strategies.get(strategy)
    assert sum(result["replicas"] for result in results) == replicas
    # Where a server counts, or one task drives all workers, the count is of all replicas' updates.
    everyone = chosen.updates_are_global or chosen.measured_job == "chief"
    assert {result["updates"] for result in results} == {STEPS * replicas if everyone else STEPS}
    for result in results:
        assert all(math.isfinite(loss) for loss in result["losses"])
        assert any((before != after).any() for before, after in zip(result["before"], result["after"], strict=True))


@pytest.mark.parametrize(("strategy", "workload"), PAIRS)
def test_a_step_runs_and_updates(launcher: ClusterLauncher, strategy: str, workload: str) -> None:
    _assert_trained(strategy, _train(launcher, strategy, workload, FAMILIES[workload]))


@pytest.mark.parametrize("workload", ["keras_dense", "tf_keras_dense"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_keras_models_train_and_write_their_moving_averages(
    launcher: ClusterLauncher, strategy: str, workload: str
) -> None:
    results = _train(launcher, strategy, workload, {}, look=keras_workloads.keras_state)
    _assert_trained(strategy, results)
    for result in results:
        mean, variance = result["seen"]
        assert (mean != 0).any()
        assert (variance != 1).all()
