"""A tfperf marker becomes a frozen record here, once, or a usage error that names what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any, cast

import pytest

from pytest_tfperf.config import MOST_SECONDS
from pytest_tfperf.errors import UsageError
from pytest_tfperf.plan import check_hosts
from pytest_tfperf.recipes import (
    check_layouts,
    check_recipe_device,
    options_apart,
    recipe_of,
    reference_of,
    versus_of,
)
from pytest_tfperf.records.arm import Device, Recipe, Sweep, SweepSpec
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

_ARGUMENTS = (
    *("strategy", "replicas", "min_efficiency", "tolerance", "rounds", "reference"),
    *("variant", "slowdown", "timeout", "versus", "min_speedup", "suspect"),
)


def sweep_spec(marker: pytest.Mark, test: str, device: Device) -> SweepSpec:
    """Check a tfperf marker and make it a record.

    Raises:
        UsageError: an argument is missing, unknown or wrong; the message names the test and the argument.
    """
    with _in_marker_of(test):
        return _sweep_spec(marker, test, device)


def check_device(spec: SweepSpec) -> None:
    """See to it that what a spec asks for can be had on its device, which is known once the test's marks all are.

    Raises:
        UsageError: it cannot; the message is as those of `sweep_spec`.
    """
    with _in_marker_of(spec.test):
        check_recipe_device(spec.recipe, spec.device)
        check_recipe_device(spec.reference, spec.device, "reference")
        if spec.versus:
            check_recipe_device(spec.versus, spec.device, "versus")


@contextmanager
def _in_marker_of(test: str) -> Iterator[None]:
    """Usage errors within name the test."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{test}: @pytest.mark.tfperf: {error}") from None


def _sweep_spec(marker: pytest.Mark, test: str, device: Device) -> SweepSpec:
    given = dict(marker.kwargs)
    if len(marker.args) != 1:
        raise UsageError("give one workload, a name or a decorated function, as the first argument")
    workload = workloads.get(marker.args[0])
    if "strategy" not in given:
        raise UsageError("argument 'strategy' is missing")
    own = {key: given.pop(key) for key in _ARGUMENTS if key in given}
    replicas = _replicas(own.get("replicas", (1,)))
    recipe = recipe_of(workload, own["strategy"], given, replicas, others=_ARGUMENTS)
    reference = reference_of(recipe, own.get("reference", "single"))
    versus = versus_of(workload, recipe, own.get("versus"), replicas)
    check_layouts(recipe, replicas)
    check_layouts(reference, [1], "reference")
    if versus:
        check_layouts(versus, replicas, "versus")
    if versus is None and "min_speedup" in own:
        raise UsageError("argument 'min_speedup' needs 'versus', the strategy that it is a ratio to")
    spec = SweepSpec(
        test=test,
        workload=workload.name,
        recipe=recipe,
        reference=reference,
        reference_options=options_apart(reference, recipe),
        versus=versus,
        replicas=replicas,
        device=device,
        suspect=_suspect(own.get("suspect"), recipe, versus),
        min_efficiency=_fractions("min_efficiency", own.get("min_efficiency"), replicas, highest=2.0),
        min_speedup=_fractions("min_speedup", own.get("min_speedup"), replicas, highest=inf),
        tolerance=_fractions("tolerance", own.get("tolerance"), replicas, highest=0.999),
        rounds=_whole("rounds", own.get("rounds")),
        variant=_variant(own.get("variant")),
        slowdown=_slowdown(own.get("slowdown"), replicas),
        timeout=_positive("timeout", own.get("timeout")),
    )
    check_hosts(spec)
    _check_efficiency(spec)
    return spec


def _check_efficiency(spec: SweepSpec) -> None:
    """E(1) of what is its own reference is 1 by definition: a floor of nothing else would hold for ever."""
    own = Sweep(spec, spec.replicas)
    if spec.min_efficiency and all(own.is_own_reference(replicas) for replicas in spec.min_efficiency):
        raise UsageError(
            f"argument 'min_efficiency' has nothing to judge: T(1) of {spec.strategy!r} is the reference itself, so "
            "E(1) is always 1; give more replicas, or another reference"
        )


def _suspect(value: object, recipe: Recipe, versus: Recipe | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"argument 'suspect' takes words, as in 'number of small variables', not {value!r}")
    if versus is None and strategies.get(recipe.strategy).synchronous:
        raise UsageError(
            "argument 'suspect' needs 'versus', the same with the suspect; without it the suspect is how an "
            f"asynchronous job's steps are counted, and {recipe.strategy!r} is synchronous"
        )
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _replicas(value: object) -> tuple[int, ...]:
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if not values or not all(_is_count(count) for count in values) or len(set(values)) != len(values):
        raise UsageError(f"argument 'replicas' takes distinct whole numbers from 1, as in [1, 2, 4], not {value!r}")
    return tuple(cast("Sequence[int]", values))


def _fractions(name: str, value: object, replicas: tuple[int, ...], highest: float) -> dict[int, float]:
    """A number for every replica count, or a mapping by replica count."""
    if value is None:
        return {}
    by_count: Mapping[Any, Any] = value if isinstance(value, Mapping) else dict.fromkeys(replicas, value)
    for count, number in by_count.items():
        if count not in replicas:
            raise UsageError(f"argument {name!r} has a value for {count!r} replicas, which the marker does not measure")
        if not _is_number(number) or not 0 < number <= highest:
            usual = "0.03 (3 %)" if name == "tolerance" else "0.9 (90 %)"
            what = f"a fraction such as {usual}" if highest < inf else "a number above 0"
            raise UsageError(f"argument {name!r} takes {what}, not {number!r}")
    return {count: float(number) for count, number in by_count.items()}


def _slowdown(value: object, replicas: tuple[int, ...]) -> dict[int | str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(
            f"argument 'slowdown' maps a replica count or 'reference' to a fraction, as in {{4: 0.1}}, not {value!r}"
        )
    for arm, fraction in value.items():
        if arm != "reference" and arm not in replicas:
            raise UsageError(f"argument 'slowdown' names {arm!r}, which is no replica count here nor 'reference'")
        if not _is_number(fraction) or fraction < 0:
            raise UsageError(f"argument 'slowdown' takes fractions from 0, not {fraction!r}")
    return {arm: float(fraction) for arm, fraction in value.items()}


def _whole(name: str, value: object) -> int | None:
    if value is not None and not _is_count(value):
        raise UsageError(f"argument {name!r} takes a whole number from 1, not {value!r}")
    return cast("int | None", value)


def _positive(name: str, value: object) -> float | None:
    if value is not None and not (_is_number(value) and cast("float", value) > 0):
        raise UsageError(f"argument {name!r} takes a number above 0, not {value!r}")
    if value is not None and cast("float", value) > MOST_SECONDS:
        raise UsageError(f"argument {name!r} takes at most {MOST_SECONDS:,} seconds, not {value!r}")
    return None if value is None else float(cast("float", value))


def _variant(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum()):
        return value
    raise UsageError(f"argument 'variant' takes letters, digits, '-' and '_', as it names a file, not {value!r}")
