"""Models of the public reports: as large as published, learning, and the same in an old-style graph."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.records.task import Layout, TaskId
from pytest_tfperf.workloads import registry as workloads
from tests.strategies.harness import run_tasks
from tests.strategies.jobs import train, train_each
from tests.strategies.model_jobs import describe_models, look_at_gpt2, train_in_graphs

WORKER = TaskId("worker", 0)

PUBLISHED = {
    # torchvision's alexnet, the same network (https://github.com/pytorch/vision, meta["num_params"]).
    "alexnet": ({"batch_size": 2}, 61_100_840),
    # Keras' InceptionV3: 23,851,784 in all, of which 34,432 moving averages (https://keras.io/api/applications).
    "inception_v3": ({"batch_size": 2}, 23_817_352),
    # torchvision's inception_v3 has the head, and a scale for each of the 18,112 normalised channels.
    "with_head": ({"batch_size": 2, "auxiliary": True}, 27_161_264 - 18_112),
    # torchvision's resnet152.
    "resnet152": ({"batch_size": 2}, 60_192_808),
    # 1.7 M in the paper's table 6. pytorchcv's resnet110_cifar10, 1,730,714, has two projections (option B) more.
    "resnet110": ({"batch_size": 2}, 1_730_714 - (16 * 32 + 2 * 32) - (32 * 64 + 2 * 64)),
    # facenet-pytorch's InceptionResnetV1 has 8,631 classes, and a scale for each of the 14,800 normalised channels.
    "inception_resnet_v1": ({"batch_size": 2}, 27_910_327 - 14_800 + (10_000 - 8_631) * (512 + 1)),
    # ResNet18 of https://github.com/kuangliu/pytorch-cifar.
    "resnet18_cifar": ({"batch_size": 2}, 11_173_962),
    # The weights that OpenAI published, as GPT2Model of https://github.com/huggingface/transformers counts them.
    "gpt2": ({"batch_size": 1, "query_blocks": 1}, 124_439_808),
}
NAMES = {"with_head": "inception_v3"}
MODELS = [name for name in PUBLISHED if name not in NAMES]

TINY: dict[str, dict[str, Any]] = {
    "alexnet": {"batch_size": 8, "image_size": 64, "classes": 10, "width": 0.125},
    "inception_v3": {"batch_size": 4, "image_size": 75, "classes": 10, "width": 0.125},
    "resnet50": {"batch_size": 4, "image_size": 32, "classes": 10, "width": 0.125, "precision": "float32"},
    "resnet110": {"batch_size": 16, "depth": 8, "width": 0.5, "records": 500, "ballast": 100},
    "inception_resnet_v1": {"batch_size": 4, "image_size": 75, "classes": 50, "depth": 1, "width": 0.125},
    "resnet18_cifar": {"batch_size": 8, "image_size": 16, "width": 0.125, "input": "host"},
}
TINY["inception_resnet_v1"]["weight_decay"] = 1e-4
TINY["gpt2"] = {"batch_size": 4, "sequence": 8, "layers": 1, "width": 16, "heads": 2, "vocabulary": 50}
TINY["gpt2"]["precision"] = "float32"
STEPS = {"gpt2": 80, "alexnet": 60, "inception_v3": 30, "resnet110": 100}
"""Inception v3's own optimiser, RMSProp at a rate for large batches, goes up and down before it goes down."""


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


HALF = [
    *((name, "float16") for name in (*TINY, "mlp", "smallconv")),
    ("alexnet", "bfloat16"),
    ("resnet110", "bfloat16"),
]


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    models: dict[str, Any] = {key: (NAMES.get(key, key), params) for key, (params, _) in PUBLISHED.items()}
    models["shallow"] = "resnet152", {"batch_size": 2, "image_size": 32, "blocks": 0.1}
    models["ballast"] = "resnet110", {"batch_size": 2, "ballast": 1_000}
    for name, precision in HALF:
        sizes: dict[str, Any] = {"hidden": 8} if name == "mlp" else TINY.get(name, {})
        models[f"{name} {precision}"] = name, {**sizes, "precision": precision}
    result: dict[str, Any] = run_tasks(Layout(1), describe_models, models=models)[WORKER]
    return result


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameter_counts(described: dict[str, Any], name: str) -> None:
    assert described[name]["parameters"] == PUBLISHED[name][1]


def test_counts_that_the_docstrings_name(described: dict[str, Any]) -> None:
    for name in MODELS:
        count = described[name]["parameters"]
        assert f"{count:,}" in (workloads.get(name).build.__doc__ or "")
    assert described["inception_v3"]["state"] == 34_432


@pytest.mark.parametrize("name", MODELS)
def test_stated_arithmetic_is_that_of_the_graph(described: dict[str, Any], name: str) -> None:
    # Biases and scales are parameters without a product: GPT-2's 6 N counts them, which is a thousandth too much.
    definition = workloads.get(name)
    cost = definition.cost_of({**definition.params, **PUBLISHED[name][0]})
    assert cost is not None
    assert cost.flops == pytest.approx(6 * described[name]["multiplications"], rel=1e-3)


def test_sizes_for_small_machines(described: dict[str, Any]) -> None:
    # Stages of 1, 1, 4 and 1 blocks: stem 64 channels; 10 times the filters in a first block, 6 times in others; each
    # channel with two moving averages.
    assert described["shallow"]["state"] == 2 * (64 + 10 * (64 + 128 + 256 + 512) + 3 * 6 * 256)
    assert described["ballast"]["parameters"] == described["resnet110"]["parameters"] + 1_000


@pytest.mark.parametrize(
    ("name", "images", "outputs"),
    [
        ("alexnet", (2, 224, 224, 3), [(2, 1000)]),
        ("inception_v3", (2, 299, 299, 3), [(2, 1000)]),
        ("with_head", (2, 299, 299, 3), [(2, 1000), (2, 1000)]),
        ("resnet152", (2, 224, 224, 3), [(2, 1000)]),
        ("resnet110", (2, 32, 32, 3), [(2, 10)]),
        ("inception_resnet_v1", (2, 160, 160, 3), [(2, 10_000)]),
        ("resnet18_cifar", (2, 32, 32, 3), [(2, 10)]),
        ("gpt2", (1, 1024), [(1, 1024, 50_257)]),
    ],
)
def test_shapes(described: dict[str, Any], name: str, images: Any, outputs: Any) -> None:
    assert described[name]["batch"] == [images, images if name == "gpt2" else images[:1]]
    assert described[name]["outputs"] == outputs


@pytest.mark.parametrize(("name", "precision"), HALF)
def test_half_precision_is_of_products_alone(described: dict[str, Any], name: str, precision: str) -> None:
    found = described[f"{name} {precision}"]
    assert precision in found["product types"]
    assert found["variable types"] == found["output types"] == {"float32"}
    assert (found["loss type"], found["loss scale"]) == ("float32", 128.0 if precision == "float16" else 1.0)


def test_weight_decay_is_passed_on(described: dict[str, Any]) -> None:
    assert described["resnet110"]["weight decay"] == 0.0002
    assert described["alexnet"]["weight decay"] == 0.0
    assert described["inception_resnet_v1 float16"]["weight decay"] == 1e-4


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    runs: dict[str, dict[str, Any]] = {name: {"name": name, "params": params} for name, params in TINY.items()}
    del runs["resnet50"]  # trained in test_models
    compiled = {**TINY["alexnet"], "xla": True, "lrn": True, "precision": "bfloat16"}
    runs["compiled"] = {"name": "alexnet", "params": compiled}
    for run in runs.values():
        run.update(strategy="single", steps=STEPS.get(run["name"], 12))
    results: dict[str, Any] = run_tasks(Layout(1), train_each, runs=runs)[WORKER]
    return results


@pytest.mark.parametrize("name", [*(name for name in TINY if name != "resnet50"), "compiled"])
def test_loss_falls(trained: dict[str, Any], name: str) -> None:
    _assert_falls(trained[name]["losses"])
    assert trained[name]["updates"] == len(trained[name]["losses"])


def test_the_loss_of_resnet152_falls_with_all_its_layers() -> None:
    # Without XLA, which takes longer to compile 152 layers than everything else here.
    params = {**TINY["resnet50"], "xla": False}
    found = run_tasks(Layout(1), train, strategy="single", name="resnet152", steps=12, params=params)[WORKER]
    _assert_falls(found["losses"])
    assert found["updates"] == 12
    # Convolutions of the stem, of 50 blocks and of 4 shortcuts, a kernel and two of its norm each; the head's two.
    assert len(found["after"]) == 3 * (1 + 3 * 50 + 4) + 2


@pytest.fixture(scope="module")
def trained_in_graphs() -> dict[str, Any]:
    runs = {name: (name, STEPS.get(name, 12), params) for name, params in TINY.items()}
    results: dict[str, Any] = run_tasks(Layout(1), train_in_graphs, runs=runs)[WORKER]
    return results


@pytest.mark.parametrize("name", TINY)
def test_the_same_definition_in_an_old_style_graph(trained_in_graphs: dict[str, Any], name: str) -> None:
    found = trained_in_graphs[name]
    _assert_falls(found["losses"])
    assert all(moved > 0 for moved in found["moved"])
    assert len(found["moved"]) > 0 or name in ("alexnet", "gpt2")


def test_records_and_weight_decay_under_parameter_servers() -> None:
    params = TINY["resnet110"]
    found = run_tasks(Layout(1, ps=1), train, strategy="ps_async", name="resnet110", steps=3, params=params)[WORKER]
    assert len(found["losses"]) == found["updates"] == 3
    assert all(math.isfinite(loss) for loss in found["losses"])
    assert any((before != after).any() for before, after in zip(found["before"], found["after"], strict=True))


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    params = {"batch_size": 2, "sequence": 32, "layers": 2, "width": 32, "heads": 4, "vocabulary": 100}
    results: dict[str, Any] = run_tasks(Layout(1), look_at_gpt2, params=params)[WORKER]
    return results


def test_a_later_token_changes_no_earlier_logits_of_gpt2(seen: dict[str, Any]) -> None:
    before, after = seen["blocks"][0], seen["changed"]
    assert (before[1] == after[1]).all()
    assert (before[0, :16] == after[0, :16]).all()
    assert (before[0, 16:] != after[0, 16:]).any(axis=-1).all()


@pytest.mark.parametrize(("key", "most"), [("blocks", 1e-5), ("bfloat16", 0.05)])
def test_gpt2_computed_otherwise_is_the_same(seen: dict[str, Any], key: str, most: float) -> None:
    (logits, loss, gradients), (other_logits, other_loss, others) = seen["float32"], seen[key]
    assert _distance(other_logits, logits) < most
    assert other_loss == pytest.approx(loss, rel=most)
    assert all(_distance(other, gradient) < most for other, gradient in zip(others, gradients, strict=True))


def _distance(other: Any, array: Any) -> float:
    return float(((other - array) ** 2).sum() ** 0.5 / ((array**2).sum() ** 0.5))


def _assert_falls(losses: list[float]) -> None:
    window = min(5, len(losses) // 3)
    first, last = sum(losses[:window]) / window, sum(losses[-window:]) / window
    assert last < 0.9 * first
