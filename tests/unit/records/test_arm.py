"""What a recipe's definition says, by which a baseline holds or does not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_tfperf.records.arm import Recipe, Scalar, SweepSpec, definition_changes

OLDER: Mapping[str, Scalar] = {"communication": "auto", "pack_gradients": True, "steps_per_call": 1}
RING = "multi_worker_mirrored"


def test_a_setting_that_came_later_changes_a_definition_only_where_it_is_used() -> None:
    before = Recipe(RING, OLDER)
    assert Recipe(RING, {**OLDER, "pack_variables": False}).definition == before.definition
    assert Recipe(RING, {**OLDER, "pack_variables": True}).definition == {
        **before.definition,
        "strategy.pack_variables": True,
    }


def test_several_steps_a_call_came_first_to_one_strategy_and_later_to_others() -> None:
    before, after = {"pack_variables": False}, {"pack_variables": False, "steps_per_call": 1}
    for strategy in ("single", "independent", "mirrored"):
        assert Recipe(strategy, after).definition == Recipe(strategy, before).definition
        assert Recipe(strategy, {**after, "steps_per_call": 8}).definition["strategy.steps_per_call"] == 8
        several, one = (Recipe(strategy, {**after, "steps_per_call": calls}) for calls in (8, 1))
        assert SweepSpec("t", "w", several, Recipe("single"), (1,), "cpu", versus=one).against == "steps_per_call=1"
    assert Recipe(RING, OLDER).definition["strategy.steps_per_call"] == 1


SHORT = {"reference": "single", "strategy.steps_per_call": 8}


@pytest.mark.parametrize(
    ("before", "now", "strategy", "changes"),
    [
        (SHORT, SHORT, RING, []),
        ({"workload.width": 4}, {"workload.width": 5}, RING, [("workload.width", "4", "5")]),
        ({}, {"link": "1gbit"}, RING, [("link", "not set", "1gbit")]),
        ({"link": None}, {}, RING, [("link", "None", "not set")]),
        ({}, {"strategy.compression": "float16"}, RING, [("strategy.compression", "none", "float16")]),
        (SHORT | {"reference.steps_per_call": 8}, SHORT, RING, [("reference.steps_per_call", "8", "1")]),
        (SHORT, SHORT | {"reference.steps_per_call": 1}, "single", [("reference.steps_per_call", "8", "1")]),
        ({"reference": "ps_async"}, {"reference": "ps_async", "reference.ps": 2}, "ps_sync",
         [("reference.ps", "its default", "2")]),
    ],
)  # fmt: skip
def test_what_two_definitions_differ_in(
    before: dict[str, Scalar], now: dict[str, Scalar], strategy: str, changes: list[tuple[str, str, str]]
) -> None:
    assert definition_changes(before, now, strategy) == changes


def test_what_a_slowdown_makes_longer() -> None:
    slow = SweepSpec("t", "w", Recipe(RING), Recipe("single"), (2, 4), "cpu", slowdown={4: 0.1, "reference": 2.5})
    assert slow.slowed(2) == ("T(1) by 250 %",)
    assert slow.slowed(4) == ("T(1) by 250 %", "T(4) by 10 %")
    assert SweepSpec("t", "w", Recipe(RING), Recipe("single"), (2,), "cpu").slowed(2) == ()
    alone = SweepSpec("t", "w", Recipe("single"), Recipe("single"), (1,), "cpu", slowdown={"reference": 0.5})
    assert alone.slowed(1) == ("T(1) by 50 %",)


def test_compression_is_such_a_setting() -> None:
    before = Recipe(RING, OLDER)
    none, half = (Recipe(RING, {**OLDER, "compression": kind}) for kind in ("none", "float16"))
    assert none.definition == before.definition
    assert half.definition == {**before.definition, "strategy.compression": "float16"}
    assert SweepSpec("t", "w", half, Recipe("single"), (2,), "cpu", versus=none).against == "compression=none"


def test_arms_that_differ_in_such_a_setting_are_told_apart_by_it() -> None:
    without, packed = (Recipe(RING, {**OLDER, "pack_variables": used}) for used in (False, True))
    single = Recipe("single")
    assert SweepSpec("t", "w", packed, single, (2,), "cpu", versus=without).against == "pack_variables=False"
    assert SweepSpec("t", "w", without, single, (2,), "cpu", versus=packed).against == "pack_variables=True"
