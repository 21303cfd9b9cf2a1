"""Which of a strategy's options its reference, T(1), is measured with."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tfperf.marker import sweep_spec
from pytest_tfperf.records.arm import Recipe, SweepSpec

DEFAULTS = {"pack_variables": False, "steps_per_call": 1}


def spec(**given: Any) -> SweepSpec:
    mark = pytest.mark.tfperf.with_args("mlp", **given).mark
    return sweep_spec(mark, "test_a.py::test_a", "cpu")


def reference(**given: Any) -> Recipe:
    return spec(**given).reference


@pytest.mark.parametrize("packed", [False, True])
def test_the_reference_takes_options_that_it_has_too(packed: bool) -> None:
    ring = {"strategy": "multi_worker_mirrored", "steps_per_call": 8, "pack_variables": packed, "batch_size": 8}
    found = reference(**ring)
    options = {"pack_variables": packed, "steps_per_call": 8}
    assert (found.strategy, found.strategy_options) == ("single", options)
    assert found.workload_params["batch_size"] == 8
    assert reference(reference="independent", **ring).strategy_options == options


@pytest.mark.parametrize("strategy", ["multi_worker_mirrored", "mirrored", "independent"])
def test_what_a_recipe_is_held_against_takes_them_too(strategy: str) -> None:
    given = {"strategy": strategy, "steps_per_call": 8, "pack_variables": True}
    assert reference(**given).strategy_options == {"pack_variables": True, "steps_per_call": 8}
    for other in ("multi_worker_mirrored", "mirrored", "independent"):
        if other != strategy:
            versus = spec(**given, versus=other).versus
            assert versus is not None
            assert (versus.strategy_options["steps_per_call"], versus.strategy_options["pack_variables"]) == (8, True)


def test_a_reference_without_such_options_has_its_defaults() -> None:
    assert reference(strategy="ps_async", ps=2).strategy_options == DEFAULTS


def test_a_mapping_says_what_the_reference_has_that_the_strategy_has_not() -> None:
    ring = {"strategy": "multi_worker_mirrored", "steps_per_call": 8, "pack_variables": True}
    found = reference(**ring, reference={"steps_per_call": 1})
    assert (found.strategy, found.strategy_options) == ("single", {"pack_variables": True, "steps_per_call": 1})
    found = reference(**ring, reference={"strategy": "multi_worker_mirrored", "pack_variables": False})
    assert found == reference(strategy="multi_worker_mirrored", steps_per_call=8, reference="multi_worker_mirrored")


def test_a_definition_names_what_the_reference_has_of_its_own() -> None:
    ring = {"strategy": "multi_worker_mirrored", "steps_per_call": 8}

    def named(reference: Any) -> dict[str, Any]:
        found = spec(**ring, reference=reference).definition
        return {key: value for key, value in found.items() if key.startswith("reference")}

    assert named("single") == {"reference": "single", "reference.steps_per_call": 8}
    # As it was before `single` had the option: what was saved then still holds.
    assert named({"steps_per_call": 1}) == {"reference": "single"}
    own = "multi_worker_mirrored"
    assert named(own) == {"reference": own}
    assert named({"strategy": own, "steps_per_call": 1}) == {"reference": own, "reference.steps_per_call": 1}


def test_a_strategy_that_is_its_own_reference_has_all_of_them() -> None:
    found = reference(strategy="ps_async", reference="ps_async", ps=2, placement="packed")
    assert found.strategy_options == {"ps": 2, "placement": "packed", "feed": False}


def test_a_definition_says_which_options_the_reference_took() -> None:
    """Or what was saved when it took none would be held against another T(1)."""
    plain, packed = (
        spec(strategy="multi_worker_mirrored", pack_variables=used).definition.items() for used in (False, True)
    )
    assert packed - plain == {("reference.pack_variables", True), ("strategy.pack_variables", True)}
    assert plain - packed == set()
    servers = spec(strategy="ps_sync", reference="ps_async", ps=2).definition
    assert [key for key in servers if key.startswith("reference.")] == ["reference.ps"]
    own = spec(strategy="ps_async", reference="ps_async", ps=2).definition
    assert [key for key in own if key.startswith("reference.")] == []


def test_what_a_recipe_is_held_against_has_the_options_that_both_have() -> None:
    versus = spec(strategy="multi_worker_mirrored", pack_variables=True, versus="independent").versus
    assert versus is not None
    assert versus.strategy_options == {**DEFAULTS, "pack_variables": True}
    other = {"strategy": "independent", "pack_variables": False}
    versus = spec(strategy="multi_worker_mirrored", pack_variables=True, versus=other).versus
    assert versus is not None
    assert versus.strategy_options == DEFAULTS
