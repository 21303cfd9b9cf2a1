"""Which of a strategy's options its reference, T(1), is measured with."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tfperf.marker import sweep_spec
from pytest_tfperf.records.arm import Recipe, SweepSpec


def spec(**given: Any) -> SweepSpec:
    mark = pytest.mark.tfperf.with_args("mlp", **given).mark
    return sweep_spec(mark, "test_a.py::test_a", "cpu")


def reference(**given: Any) -> Recipe:
    return spec(**given).reference


@pytest.mark.parametrize("packed", [False, True])
def test_the_reference_takes_options_that_it_has_too(packed: bool) -> None:
    ring = {"strategy": "multi_worker_mirrored", "steps_per_call": 8, "pack_variables": packed, "batch_size": 8}
    found = reference(**ring)
    assert (found.strategy, found.strategy_options) == ("single", {"pack_variables": packed})
    assert found.workload_params["batch_size"] == 8
    assert reference(reference="independent", **ring).strategy_options == {"pack_variables": packed}


def test_a_reference_without_such_options_has_its_defaults() -> None:
    assert reference(strategy="ps_async", ps=2).strategy_options == {"pack_variables": False}


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
    assert versus.strategy_options == {"pack_variables": True}
    other = {"strategy": "independent", "pack_variables": False}
    versus = spec(strategy="multi_worker_mirrored", pack_variables=True, versus=other).versus
    assert versus is not None
    assert versus.strategy_options == {"pack_variables": False}
