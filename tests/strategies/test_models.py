"""The built-in models are the published ones, and they learn."""

from __future__ import annotations

import math
from typing import Any

import pytest
from strategy_harness import run_tasks
from strategy_jobs import inspect_models, train_each

from pytest_tfperf.records.task import Layout, TaskId

WORKER = TaskId("worker", 0)
TINY = {"batch_size": 8, "image_size": 32, "classes": 10, "precision": "float32", "xla": False}


@pytest.fixture(scope="module")
def shapes() -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    models = {"mlp": {}, "smallconv": {}, "resnet50": {"batch_size": 1}}
    result: dict[str, list[tuple[str, tuple[int, ...]]]] = run_tasks(Layout(1), inspect_models, models=models)[WORKER]
    return result


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mlp", 18_882_816),  # 256*4096+4096 + 4096*4096+4096 + 4096*256+256, as reported in tensorflow#10145
        ("resnet50", 25_557_032),  # torchvision's resnet50 and NVIDIA's ResNet-50 v1.5
        ("smallconv", 24_138),  # 432 + 4608 + 18432 + 64*10+10, plus 16: see below
    ],
)
def test_parameter_counts(shapes: dict[str, list[tuple[str, tuple[int, ...]]]], name: str, parameters: int) -> None:
    assert sum(math.prod(shape) for _, shape in shapes[name]) == parameters


def test_resnet50_is_version_1_5(shapes: dict[str, list[tuple[str, tuple[int, ...]]]]) -> None:
    kernels = [shape for name, shape in shapes["resnet50"] if "conv/kernel" in name]
    assert len(kernels) == 53
    assert kernels[0] == (7, 7, 3, 64)
    assert kernels[-3:] == [(1, 1, 2048, 512), (3, 3, 512, 512), (1, 1, 512, 2048)]


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    def run(name: str, steps: int, **params: Any) -> dict[str, Any]:
        return {"strategy": "single", "name": name, "steps": steps, "params": params}

    runs = {
        "mlp": run("mlp", 40, hidden=512),
        "smallconv": run("smallconv", 40),
        "resnet50": run("resnet50", 20, **TINY),
        "resnet50 half": run("resnet50", 2, **{**TINY, "precision": "bfloat16", "batch_size": 2}),
    }
    results: dict[str, Any] = run_tasks(Layout(1), train_each, runs=runs)[WORKER]
    return results


@pytest.mark.parametrize("name", ["mlp", "smallconv", "resnet50"])
def test_loss_falls(trained: dict[str, Any], name: str) -> None:
    losses = trained[name]["losses"]
    assert losses[-1] < 0.97 * losses[0]
    assert trained[name]["updates"] == len(losses)


def test_half_precision_keeps_variables_in_float32(trained: dict[str, Any]) -> None:
    result = trained["resnet50 half"]
    assert all(math.isfinite(loss) for loss in result["losses"])
    assert {weights.dtype.name for weights in result["after"]} == {"float32"}
