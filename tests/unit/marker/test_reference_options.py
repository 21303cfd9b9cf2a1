"""Which of a strategy's options its reference, T(1), is measured with."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tfperf.marker import sweep_spec
from pytest_tfperf.records.arm import Recipe


def reference(**given: Any) -> Recipe:
    mark = pytest.mark.tfperf.with_args("mlp", **given).mark
    return sweep_spec(mark, "test_a.py::test_a", "cpu").reference


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
