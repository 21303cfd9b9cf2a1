"""The built-in models are the published ones, and they learn."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_tfperf.records.task import Layout, TaskId
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import inspect_models, train_each

WORKER = TaskId("worker", 0)
TINY = {"batch_size": 4, "image_size": 32, "classes": 10, "precision": "float32", "xla": False}


@pytest.fixture(scope="module")
def built() -> dict[str, Any]:
    models: dict[str, dict[str, int]] = {"mlp": {}, "smallconv": {}, "resnet50": {"batch_size": 1, "image_size": 32}}
    result: dict[str, Any] = run_tasks(Layout(1), inspect_models, models=models)[WORKER]
    return result


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mlp", 18_882_816),  # 256*4096+4096 + 4096*4096+4096 + 4096*256+256, as reported in tensorflow#10145
        ("resnet50", 25_557_032),  # torchvision's resnet50 and NVIDIA's ResNet-50 v1.5
        ("smallconv", 24_122),  # 432 + 4608 + 18432 + 640+10
    ],
)
def test_parameter_counts(built: dict[str, Any], name: str, parameters: int) -> None:
    assert sum(math.prod(shape) for _, shape in built[name]) == parameters


def test_resnet50_is_version_1_5(built: dict[str, Any]) -> None:
    kernels = [shape for name, shape in built["resnet50"] if "conv/kernel" in name]
    assert len(kernels) == 53
    assert kernels[0] == (7, 7, 3, 64)
    assert kernels[-3:] == [(1, 1, 2048, 512), (3, 3, 512, 512), (1, 1, 512, 2048)]


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    def run(name: str, steps: int, **params: Any) -> dict[str, Any]:
        return {"strategy": "single", "name": name, "steps": steps, "params": params}

    runs = {
        "mlp": run("mlp", 60, hidden=1024),
        "smallconv": run("smallconv", 40),
        "resnet50": run("resnet50", 12, **TINY),
        "half": run("normalised", 120, precision="bfloat16", xla=True),
    }
    results: dict[str, Any] = run_tasks(Layout(1), train_each, runs=runs)[WORKER]
    return results


@pytest.mark.parametrize("name", ["mlp", "smallconv", "resnet50", "half"])
def test_loss_falls(trained: dict[str, Any], name: str) -> None:
    losses = trained[name]["losses"]
    some = 30 if name == "half" else 1  # each of its steps has a batch of its own, and so a loss of its own
    assert sum(losses[-some:]) < 0.97 * sum(losses[:some])
    assert trained[name]["updates"] == len(losses)


@pytest.mark.parametrize(("precision", "loss_scale"), [("bfloat16", 1.0), ("float16", 128.0)])
def test_resnet50_in_half_precision_keeps_variables_and_logits_in_float32(
    built: dict[str, Any], precision: str, loss_scale: float
) -> None:
    dtype, size, variables, scale = built[precision]
    assert (dtype, variables, scale) == ("float32", {"float32"}, loss_scale)
    assert math.isfinite(size)
