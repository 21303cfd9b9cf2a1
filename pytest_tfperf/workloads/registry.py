"""Workloads by name: the `workload` decorator, and look-up that imports a built-in model only when it is asked for."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, overload

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.workloads.base import Optimizer, WorkloadDefinition
from pytest_tfperf.workloads.settings import SETTING_TYPES, did_you_mean, resolve

_MODELS = "pytest_tfperf.workloads.models"
_BUILT_IN = {
    "alexnet": f"{_MODELS}.alexnet",
    "gpt2": f"{_MODELS}.gpt2",
    "inception_resnet_v1": f"{_MODELS}.inception_resnet_v1",
    "inception_v3": f"{_MODELS}.inception_v3",
    "mlp": f"{_MODELS}.mlp",
    "resnet110": f"{_MODELS}.cifar_resnet",
    "resnet152": f"{_MODELS}.resnet",
    "resnet18_cifar": f"{_MODELS}.cifar_resnet",
    "resnet50": f"{_MODELS}.resnet",
    "smallconv": f"{_MODELS}.smallconv",
}

RESERVED = frozenset(
    (
        *("strategy", "replicas", "min_efficiency", "tolerance", "rounds", "reference"),
        *("variant", "slowdown", "timeout", "versus", "min_speedup", "link", "hosts", "name", "xla"),
    )
)
"""Words of the marker itself, and `xla`, which the decorator declares for every workload."""

_registered: dict[str, WorkloadDefinition] = {}


@overload
def workload(function: Callable[..., Any], /) -> WorkloadDefinition: ...
@overload
def workload(
    name: str | None = None,
    /,
    *,
    optimizer: Optimizer | None = None,
    xla: bool = False,
    cost: Callable[..., ModelCost | None] | None = None,
    check: Callable[..., None] | None = None,
) -> Callable[[Callable[..., Any]], WorkloadDefinition]: ...
def workload(
    target: Callable[..., Any] | str | None = None,
    /,
    *,
    optimizer: Optimizer | None = None,
    xla: bool = False,
    cost: Callable[..., ModelCost | None] | None = None,
    check: Callable[..., None] | None = None,
) -> WorkloadDefinition | Callable[[Callable[..., Any]], WorkloadDefinition]:
    """Register a function that gives a `Workload`, or a tuple (model, loss, batch), under a name.

    Use it bare or as ``@workload("name", optimizer=Optimizer("adam", 1e-3), xla=True)``. The name is the
    function's own unless given. The function's keyword parameters, all with defaults, are what a marker can
    set. `cost` takes the same parameters and gives the `ModelCost` of an example, or None where that is not known:
    a verdict's details then say how much of the GPU's peak the model gets. `check` takes them too, and raises
    UsageError for values that cannot be had: a marker with such is refused before anything is measured. The decorated
    name is a `WorkloadDefinition`, which still can be called and can be given to a marker.

    Raises:
        UsageError: a parameter cannot be set from a marker, or another function has the name.
    """
    if callable(target):
        return _register(target, None, Optimizer(), xla=False, cost=None, check=None)
    name = target

    def register(function: Callable[..., Any]) -> WorkloadDefinition:
        return _register(
            function, name, Optimizer() if optimizer is None else optimizer, xla=xla, cost=cost, check=check
        )

    return register


def names() -> tuple[str, ...]:
    """Names of all workloads known now, sorted."""
    return tuple(sorted({*_BUILT_IN, *_registered}))


def get(workload: str | WorkloadDefinition) -> WorkloadDefinition:
    """The workload of a name; a definition is given back as it is.

    Raises:
        UsageError: there is no such workload.
    """
    if isinstance(workload, WorkloadDefinition):
        return workload
    if not isinstance(workload, str):
        raise UsageError(
            f"{workload!r} is not a workload: give the name of one, or a function decorated with @workload."
        )
    _load_built_in(workload)
    if workload not in _registered:
        raise UsageError(
            f"There is no workload {workload!r}.{did_you_mean(workload, names())} Known: {', '.join(names())}. "
            "A team's own is registered when the file with its @workload function is imported."
        )
    return _registered[workload]


def resolve_params(definition: WorkloadDefinition, overrides: Mapping[str, object]) -> dict[str, object]:
    """Every parameter of the workload, `xla` included: its defaults, with the overrides that fit them.

    Raises:
        UsageError: an override is unknown or of another type than its default, or its value cannot be had.
    """
    params = resolve(f"Workload {definition.name!r}", "parameter", definition.params, overrides)
    definition.check_params(params)
    return params


def _register(
    function: Callable[..., Any],
    name: str | None,
    optimizer: Optimizer,
    *,
    xla: bool,
    cost: Callable[..., ModelCost | None] | None,
    check: Callable[..., None] | None,
) -> WorkloadDefinition:
    if not inspect.isfunction(function):
        raise UsageError(f"@workload decorates a function, not {function!r}.")
    params = {**_params(function), "xla": xla}
    definition = WorkloadDefinition(name or function.__name__, function, params, optimizer, cost, check)
    # The name becomes part of a baseline's file name.
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", definition.name):
        raise UsageError(
            f"{definition.name!r} ({definition.place}) cannot name a workload: use letters, digits, '_', '.' and '-'."
        )
    if function.__module__ != _BUILT_IN.get(definition.name):
        _load_built_in(definition.name)
    known = _registered.get(definition.name)
    # A module imported again makes its functions again; that is no clash.
    if known is not None and _identity(known.build) != _identity(function):
        raise UsageError(
            f"Two workloads are named {definition.name!r}: {known.place} and {definition.place}. "
            'Give one of them another name: @workload("...").'
        )
    _registered[definition.name] = definition
    return definition


def _load_built_in(name: str) -> None:
    if name in _BUILT_IN and name not in _registered:
        # The module registers its function when first imported, and has it under the workload's name.
        _registered[name] = getattr(importlib.import_module(_BUILT_IN[name]), name)


def _params(function: Callable[..., Any]) -> dict[str, object]:
    params: dict[str, object] = {}
    where = f"Workload function {function.__qualname__} ({WorkloadDefinition('', function, {}).place})"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UsageError(f"{where}: {parameter} cannot be set by name; give every size a keyword and a default.")
        if parameter.name in RESERVED:
            raise UsageError(f"{where}: {parameter.name!r} is a word of the tfperf marker; use another name.")
        if parameter.default is parameter.empty:
            raise UsageError(f"{where}: {parameter.name!r} needs a default, so that a marker need not set it.")
        if not isinstance(parameter.default, SETTING_TYPES):
            raise UsageError(
                f"{where}: the default of {parameter.name!r} must be a bool, int, float, str or None, "
                f"not {parameter.default!r}."
            )
        params[parameter.name] = parameter.default
    return params


def _identity(function: Callable[..., Any]) -> tuple[str, str]:
    return function.__code__.co_filename, function.__qualname__
