"""Registering workloads and finding them again."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads import registry
from pytest_tfperf.workloads.base import Optimizer, WorkloadDefinition
from pytest_tfperf.workloads.registry import get, names, resolve_params, workload


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def test_a_bare_decorator_takes_the_functions_name() -> None:
    @workload
    def tiny(batch_size: int = 8, *, rate: float = 0.5) -> str:
        return f"{batch_size} {rate}"

    assert get("tiny") is tiny
    assert get(tiny) is tiny
    assert tiny.params == {"batch_size": 8, "rate": 0.5, "xla": False}
    assert tiny(batch_size=4) == "4 0.5"


def test_a_decorator_with_arguments() -> None:
    @workload("other.name", optimizer=Optimizer("adam", 1e-3), xla=True)
    def tiny() -> None: ...

    assert get("other.name") is tiny
    assert tiny.optimizer == Optimizer("adam", 1e-3)
    assert tiny.params == {"xla": True}


def test_a_definition_alone_is_no_test_to_be_marked() -> None:
    @workload
    def tiny() -> None: ...

    mark = pytest.mark.tfperf(tiny)
    assert isinstance(mark, pytest.MarkDecorator)
    assert mark.args == (tiny,)


def test_built_in_workloads_are_known_and_found() -> None:
    assert set(names()) >= {"alexnet", "inception_v3", "mlp", "resnet110", "resnet50", "smallconv"}
    assert all(get(name).name == name for name in names())
    assert get("resnet50").params["xla"] is True
    assert get("mlp").optimizer == Optimizer("adam", 1e-4)


def test_an_optimizer_of_an_unknown_rule_is_refused_where_it_is_made() -> None:
    with pytest.raises(UsageError, match="rule is one of sgd, momentum, adam, rmsprop, not 'rmsProp'"):
        Optimizer("rmsProp")  # type: ignore[arg-type]


def test_an_unknown_name_is_answered_with_a_close_one() -> None:
    with pytest.raises(UsageError, match=r"no workload 'resnet5'. Did you mean 'resnet50'\? Known: alexnet, "):
        get("resnet5")


def test_what_is_no_workload_at_all() -> None:
    with pytest.raises(UsageError, match="decorated with @workload"):
        get(len)  # type: ignore[arg-type]


def test_two_functions_of_one_name_are_named_with_their_places() -> None:
    @workload("mine")
    def one() -> None: ...

    with pytest.raises(UsageError) as error:

        @workload("mine")
        def two() -> None: ...

    assert str(error.value).count(f"{__file__}:") == 2
    assert get("mine") is one


def test_a_built_ins_name_is_taken() -> None:
    with pytest.raises(UsageError, match=r"models/mlp\.py:\d+ and .*test_workload_registry\.py:\d+"):

        @workload("mlp")
        def mine() -> None: ...


def test_the_same_function_again_replaces_itself() -> None:
    def make() -> WorkloadDefinition:
        @workload("again")
        def tiny() -> None: ...

        return tiny

    make()
    second = make()
    assert get("again") is second


def _without_default(width: int) -> None: ...
def _positional(*sizes: int) -> None: ...
def _keywords(**sizes: int) -> None: ...
def _reserved(rounds: int = 3) -> None: ...
def _xla(xla: bool = True) -> None: ...
def _tuple(sizes: tuple[int, ...] = (1, 2)) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_without_default, "'width' needs a default"),
        (_positional, r"\*sizes.* cannot be set by name"),
        (_keywords, r"\*\*sizes.* cannot be set by name"),
        (_reserved, "'rounds' is a word of the tfperf marker"),
        (_xla, "'xla' is a word of the tfperf marker"),
        (_tuple, "must be a bool, int, float, str or None"),
        (len, "decorates a function"),
    ],
)
def test_parameters_that_a_marker_cannot_set(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        workload(function)


def test_a_name_that_could_be_no_file() -> None:
    with pytest.raises(UsageError, match="cannot name a workload"):
        workload("a/b")(_reserved_free)


def _reserved_free() -> None: ...


def test_params_are_complete_and_checked() -> None:
    @workload
    def tiny(
        batch_size: int = 8, rate: float = 0.5, kind: str = "a", fast: bool = False, most: None = None
    ) -> None: ...

    assert resolve_params(tiny, {"rate": 2, "xla": True, "most": 3}) == {
        "batch_size": 8,
        "rate": 2.0,
        "kind": "a",
        "fast": False,
        "most": 3,
        "xla": True,
    }
    with pytest.raises(UsageError, match=r"Workload 'tiny' has no parameter 'batchsize'. Did you mean 'batch_size'\?"):
        resolve_params(tiny, {"batchsize": 4})
    wrong: list[tuple[str, Any]] = [
        ("batch_size", True),
        ("batch_size", 1.0),
        ("rate", "x"),
        ("rate", True),
        ("kind", 1),
        ("fast", 1),
        ("xla", "yes"),
        ("most", (1,)),
    ]
    for key, value in wrong:
        with pytest.raises(UsageError, match=f"{key} must be an? "):
            resolve_params(tiny, {key: value})


def test_a_definition_travels_to_a_task_by_value() -> None:
    @workload
    def local(batch_size: int = 3) -> int:
        return batch_size

    copy = pickle.loads(cloudpickle.dumps(local))
    assert copy() == 3
    assert copy.params == local.params


def test_neither_registries_nor_built_in_definitions_import_tensorflow() -> None:
    code = """
import sys
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import building, registry as workloads
for name in workloads.names():
    workloads.resolve_params(workloads.get(name), {})
for name in strategies.names():
    strategy = strategies.get(name)
    strategy.layout(1, strategies.resolve_options(strategy, {}))
print([name for name in ("tensorflow", "keras", "tf_keras", "numpy", "pytest") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
