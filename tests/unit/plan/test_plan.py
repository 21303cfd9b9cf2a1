"""Selected items become sweeps, and arms get their part of the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.plan import cores_per_rank, place, plan_sweeps
from pytest_tfperf.records.arm import Arm, Recipe, SweepSpec

SINGLE = Recipe("single")
RING = Recipe("multi_worker_mirrored", {"communication": "auto", "pack_gradients": True})
SPEC = SweepSpec("t.py::t", "smallconv", RING, SINGLE, (1, 2, 4), "cpu")


def test_selected_counts_of_a_test_are_one_sweep_in_ascending_order() -> None:
    other = replace(SPEC, test="t.py::u")
    sweeps = plan_sweeps([(SPEC, 4), (other, 1), (SPEC, 2)])
    assert {test: sweep.replicas for test, sweep in sweeps.items()} == {"t.py::t": (2, 4), "t.py::u": (1,)}


def test_arms_of_a_round_begin_with_the_reference_and_leave_out_what_was_not_selected() -> None:
    (sweep,) = plan_sweeps([(SPEC, 4), (SPEC, 1)]).values()
    assert [arm.label for arm in sweep.arms] == ["T(1)", "T(1) multi_worker_mirrored", "T(4)"]


def test_an_arm_that_is_its_own_reference_is_measured_once() -> None:
    spec = replace(SPEC, reference=RING)
    (sweep,) = plan_sweeps([(spec, 1), (spec, 2)]).values()
    assert [arm.label for arm in sweep.arms] == ["T(1)", "T(2)"]


def test_what_it_is_held_against_is_measured_at_every_count() -> None:
    spec = replace(SPEC, versus=Recipe("ps_async", {"ps": 1}))
    (sweep,) = plan_sweeps([(spec, 2), (spec, 4)]).values()
    assert [arm.label for arm in sweep.arms] == ["T(1)", "T(2)", "T(2) ps_async", "T(4)", "T(4) ps_async"]
    assert len(set(sweep.arms)) == 5


def test_what_it_is_held_against_is_named_by_what_differs() -> None:
    assert SPEC.against == ""
    assert replace(SPEC, versus=Recipe("ps_async", {"ps": 1})).against == "ps_async"
    listed = replace(RING, strategy_options={"communication": "auto", "pack_gradients": False})
    assert replace(SPEC, versus=listed).against == "pack_gradients=False"


def test_tests_that_share_a_baseline_must_measure_the_same() -> None:
    same = replace(SPEC, test="t.py::u")
    assert len(plan_sweeps([(SPEC, 1), (same, 1)])) == 2
    other = replace(same, recipe=replace(RING, workload_params={"batch_size": 8}))
    with pytest.raises(UsageError, match=r"t\.py::t and t\.py::u would share the baseline .* variant="):
        plan_sweeps([(SPEC, 1), (other, 1)])
    assert len(plan_sweeps([(SPEC, 1), (replace(other, variant="b8"), 1)])) == 2
    assert len(plan_sweeps([(SPEC, 1), (replace(other, device="gpu"), 1)])) == 2


@pytest.mark.parametrize(("cores", "expected"), [(2, 1), (4, 1), (8, 2), (64, 16)])
def test_cores_of_a_rank_follow_from_the_largest_count_of_the_marker(cores: int, expected: int) -> None:
    assert cores_per_rank(SPEC, range(cores)) == expected


def test_ranks_on_gpus_are_not_pinned() -> None:
    spec = replace(SPEC, device="gpu")
    assert cores_per_rank(spec, range(64)) is None
    placed = place(spec, spec.arm(2), ["GPU-a", "GPU-b", "GPU-c"], range(64))
    assert [(task.gpus, task.cores) for task in placed] == [(("GPU-a",), None), (("GPU-b",), None)]


def test_every_rank_has_cores_of_its_own_while_there_are_enough() -> None:
    assert [task.cores for task in place(SPEC, SPEC.arm(4), [], range(8))] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [task.cores for task in place(SPEC, SPEC.reference_arm, [], range(8))] == [(0, 1)]


def test_ranks_share_cores_once_all_are_taken() -> None:
    assert [task.cores for task in place(SPEC, SPEC.arm(4), [], [3, 5])] == [(3,), (5,), (3,), (5,)]


def test_parameter_servers_are_not_pinned_and_get_no_gpu() -> None:
    spec = replace(SPEC, recipe=Recipe("ps_async", {"ps": 1}))
    *workers, server = place(spec, Arm("smallconv", "ps_async", 2, "cpu"), [], range(8))
    assert [task.cores for task in workers] == [(0, 1), (2, 3)]
    assert (str(server.id), server.cores, server.gpus) == ("ps:0", None, ())


def test_too_few_gpus_are_an_error() -> None:
    spec = replace(SPEC, device="gpu")
    with pytest.raises(UsageError, match="needs 4 GPUs, this machine has 1"):
        place(spec, spec.arm(4), ["GPU-a"], range(8))


def test_an_arm_uses_the_recipe_of_its_part() -> None:
    spec = replace(SPEC, versus=Recipe("ps_async", {"ps": 3}))
    rival = spec.versus_arm(2)
    assert rival is not None
    assert len(place(spec, rival, [], range(8))) == 5
    assert spec.recipe_of(spec.reference_arm) == SINGLE
