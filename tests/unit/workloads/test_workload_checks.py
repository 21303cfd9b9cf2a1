"""Values of built-in workloads that cannot be had are refused by name, without TensorFlow."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.marker import sweep_spec
from pytest_tfperf.workloads import registry
from pytest_tfperf.workloads.base import WorkloadDefinition

BUILT_IN = tuple(registry._BUILT_IN)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> WorkloadDefinition:
    """A workload of a user's own that checks its parameters."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    def check(*, batch_size: int, units: int) -> None:
        if units % 8:
            raise UsageError(f"units is a multiple of 8, not {units}.")

    @registry.workload("own", check=check)
    def build(batch_size: int = 4, units: int = 8) -> str:
        return f"{batch_size} {units}"

    return build


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("smallconv", {"batch_size": 0}, "batch_size is at least 1, not 0."),
        ("smallconv", {"batch_size": -4}, "batch_size is at least 1, not -4."),
        ("smallconv", {"width": 0}, "width is at least 1, not 0."),
        (
            "smallconv",
            {"precision": "float17"},
            "precision is one of float32, float16, bfloat16, not 'float17'.",
        ),
        ("smallconv", {"input": "x"}, "input is one of synthetic, host, not 'x'."),
        ("smallconv", {"input": "records"}, "input is one of synthetic, host, not 'records'."),
        ("resnet18_cifar", {"input": "x"}, "input is one of synthetic, host, records, not 'x'."),
        ("resnet110", {"records": 0}, "records is at least 1, not 0."),
        ("resnet110", {"depth": 51, "input": "host"}, "depth is 6n + 2 (8, 14, ... 110), not 51."),
        ("resnet110", {"depth": 2}, "depth is 6n + 2 (8, 14, ... 110), not 2."),
        (
            "resnet110",
            {"image_size": 16},
            "input='records' has images of 32 x 32 in 10 classes: leave image_size and classes alone, not 16 and 10.",
        ),
        ("resnet50", {"width": 0}, "width is a finite number above 0, not 0.0."),
        ("resnet50", {"width": math.nan}, "width is a finite number above 0, not nan."),
        ("resnet50", {"width": math.inf}, "width is a finite number above 0, not inf."),
        ("resnet152", {"blocks": 0.0}, "blocks is a finite number above 0, not 0.0."),
        ("alexnet", {"dropout": 1}, "dropout is a number from 0 and below 1, not 1.0."),
        ("alexnet", {"image_size": 56}, "image_size is at least 57, not 56."),
        ("inception_v3", {"image_size": 74}, "image_size is at least 75, not 74."),
        ("inception_v3", {"image_size": 282, "auxiliary": True}, "image_size is at least 283, not 282."),
        ("inception_resnet_v1", {"image_size": 74}, "image_size is at least 75, not 74."),
        ("mlp", {"weight_decay": math.nan}, "weight_decay is a finite number from 0, not nan."),
        ("gpt2", {"heads": 7}, "width is a multiple of heads, not 768 for 7 heads."),
        ("gpt2", {"heads": 0}, "heads is at least 1, not 0."),
        ("gpt2", {"sequence": 8, "query_blocks": 9}, "query_blocks is from 1 to sequence (8), not 9."),
    ],
)
def test_a_marker_says_what_is_allowed_instead(name: str, params: dict[str, Any], said: str) -> None:
    mark = pytest.mark.tfperf.with_args(name, strategy="single", **params).mark
    with pytest.raises(UsageError) as error:
        sweep_spec(mark, "test_a.py::test_a", "cpu")
    assert str(error.value) == f"test_a.py::test_a: @pytest.mark.tfperf: Workload {name!r}: {said}"


def test_what_a_test_is_held_against_is_checked_too() -> None:
    mark = pytest.mark.tfperf.with_args("smallconv", strategy="single", versus={"batch_size": 0}).mark
    with pytest.raises(UsageError, match="Workload 'smallconv': batch_size is at least 1, not 0"):
        sweep_spec(mark, "test_a.py::test_a", "cpu")


def _bad_values() -> Iterator[tuple[str, str, object]]:
    for name in BUILT_IN:
        for parameter, default in registry.get(name).params.items():
            if not isinstance(default, bool):
                yield name, parameter, {str: "x", int: -1, float: -1.0}[type(default)]


@pytest.mark.parametrize(("name", "parameter", "value"), [*_bad_values()])
def test_no_parameter_of_a_built_in_workload_is_forgotten(name: str, parameter: str, value: object) -> None:
    with pytest.raises(UsageError, match=rf"^Workload '{name}': {parameter} is .*, not {value!r}"):
        registry.resolve_params(registry.get(name), {parameter: value})


@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, {}) for name in BUILT_IN),
        ("smallconv", {"batch_size": 1, "image_size": 1, "classes": 1, "width": 1, "input": "host"}),
        ("mlp", {"hidden_layers": 0, "weight_decay": 0.0, "precision": "bfloat16"}),
        ("alexnet", {"dropout": 0, "image_size": 57}),
        ("inception_v3", {"image_size": 283, "auxiliary": True}),
        ("inception_resnet_v1", {"depth": 0}),
        ("resnet110", {"depth": 8, "image_size": 8, "classes": 2, "input": "synthetic", "ballast": 0}),
        ("resnet152", {"blocks": 2.0, "width": 0.01}),
        ("gpt2", {"sequence": 4, "query_blocks": 4}),
    ],
)
def test_what_can_be_had_is_let_through(name: str, params: dict[str, Any]) -> None:
    definition = registry.get(name)
    assert registry.resolve_params(definition, params) == {**definition.params, **params}


def test_a_users_own_workload_takes_what_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    @registry.workload
    def free(batch_size: int = 4, precision: str = "float32", dropout: float = 0.5) -> None: ...

    given = {"batch_size": 0, "precision": "float17", "dropout": -1.0}
    assert registry.resolve_params(free, given) == {**given, "xla": False}


def test_a_users_own_check(own: WorkloadDefinition) -> None:
    assert registry.resolve_params(own, {"units": 16}) == {"batch_size": 4, "units": 16, "xla": False}
    with pytest.raises(UsageError, match=r"^Workload 'own': units is a multiple of 8, not 9\.$"):
        registry.resolve_params(own, {"units": 9})


def test_a_call_is_checked_as_a_marker_is(own: WorkloadDefinition) -> None:
    assert own(2, units=24) == "2 24"
    with pytest.raises(UsageError, match="Workload 'own': units is a multiple of 8, not 9"):
        own(2, 9)
    with pytest.raises(TypeError, match="unit"):
        own(unit=8)
    with pytest.raises(UsageError, match="Workload 'alexnet': image_size is at least 57, not 8"):
        registry.get("alexnet")(image_size=8)
    with pytest.raises(UsageError, match="Workload 'alexnet': dropout is a number from 0 and below 1, not None"):
        registry.get("alexnet")(dropout=None)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_check_travels_to_a_task(name: str) -> None:
    copy = pickle.loads(cloudpickle.dumps(registry.get(name)))
    with pytest.raises(UsageError, match="batch_size is at least 1"):
        copy.check_params({**copy.params, "batch_size": 0})
