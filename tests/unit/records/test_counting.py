"""Which rounds count where something disturbed some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.records.against import Opponent, Revision
from pytest_tfperf.records.arm import Recipe, Sweep, SweepSpec
from pytest_tfperf.records.counting import Disturbed, counting
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult

SPEC = SweepSpec("t.py::test_a", "mlp", Recipe("multi_worker_mirrored"), Recipe("single"), (2,), "cpu")


@pytest.mark.parametrize(
    ("rounds", "disturbed", "expected"),
    [
        ([1, 2, 3], [], [1, 2, 3]),
        ([1, 2, 3], [1], [2, 3]),
        ([1, 2, 3], [2], [1, 2, 3]),  # 1 and 3 went through the arms in the same order
        ([1, 2], [2], [1, 2]),  # one round says nothing of its noise
        ([1, 2, 3, 4], [1, 2], [1, 2, 3, 4]),  # half is not most
        ([1, 2, 3, 4, 5], [1, 2], [3, 4, 5]),
        ([1, 2, 3, 4, 5], [2], [1, 3, 4, 5]),
        ([1, 2, 3, 4, 5], [2, 4], [1, 2, 3, 4, 5]),
        ([1, 2, 3, 4, 5], [1, 2, 4], [1, 2, 3, 4, 5]),
        ([1, 2], [1, 2], [1, 2]),
        ([2, 3, 5, 6], [1, 3, 4], [2, 5, 6]),  # rounds that are not whole do not matter
        ([1, 3], [], [1, 3]),  # nor does their order where nothing was disturbed
        ([], [1], []),
    ],
)
def test_which_rounds_count(rounds: list[int], disturbed: list[int], expected: list[int]) -> None:
    assert counting(rounds, Disturbed(frozenset(disturbed))) == expected


@given(st.sets(st.integers(1, 20)), st.sets(st.integers(1, 20)), st.sets(st.integers(1, 20), max_size=1))
def test_either_all_count_or_most_and_none_of_those_was_disturbed(
    rounds: set[int], outside: set[int], own: set[int]
) -> None:
    found = counting(sorted(rounds), Disturbed(frozenset(outside), frozenset(own)))
    if set(found) != rounds:
        assert not outside.intersection(found)
        assert not own.intersection(rounds)
        assert 2 <= len(found) < len(rounds) < 2 * len(found)
        assert {number % 2 for number in found} == {0, 1}
        assert rounds.difference(found) <= outside


def test_what_the_code_may_have_done_itself_leaves_nothing_out() -> None:
    """A change that swaps in two rounds of five would be found as fast as ever by the other three."""
    runs = [Run(SPEC.arm(2), number, 1.0, 1.0, ()) for number in range(1, 6)]
    swapping = [replace(run, disturbances=("swap",)) if run.round == 2 else run for run in runs]
    assert counting([1, 2, 3, 4, 5], Disturbed.of(swapping)) == [1, 2, 3, 4, 5]
    both = [*swapping, replace(runs[0], disturbances=("others",), outside=True)]
    assert Disturbed.of(both) == Disturbed(frozenset({1}), frozenset({2}))
    assert counting([1, 2, 3, 4, 5], Disturbed.of(both)) == [1, 2, 3, 4, 5]
    # A round that is not whole says nothing either way.
    assert counting([1, 3, 4, 5], Disturbed.of(both)) == [3, 4, 5]


def result(here: Sequence[int], there: Sequence[int] | None, rounds: int = 5) -> SweepResult:
    """T(2) at 100 times the number of the round; with these rounds of it disturbed here, and at another revision."""
    one, two = SPEC.reference_arm, SPEC.arm(2)

    def side(disturbed: Sequence[int]) -> dict[object, ArmResult]:
        runs = [Run(two, number, 100.0 * number, 1.0, ()) for number in range(1, rounds + 1)]
        made = [replace(run, disturbances=("others",), outside=True) if run.round in disturbed else run for run in runs]
        return {one: ArmResult(one, tuple(replace(run, arm=one) for run in runs)), two: ArmResult(two, tuple(made))}

    revision = Revision("main", "a1b2c3d4" * 5)
    return SweepResult(
        Sweep(SPEC, (2,)),
        side(here),  # type: ignore[arg-type]
        Environment({}, {}),
        rounds,
        1.0,
        against={} if there is None else side(there),  # type: ignore[arg-type]
        opponent=None if there is None else Opponent(revision, replicas=(2,)),
    )


def test_a_round_that_was_disturbed_at_either_revision_counts_for_neither() -> None:
    measured = result([1], [4])
    against = measured.paired_against(2)
    assert against is not None
    assert measured.paired(2).throughput == against.throughput == (200.0, 300.0, 500.0)
    assert measured.disturbances_of(2) == ()
    assert measured.left_out_of(2) == ("T(2), round 1: others", "at main (a1b2c3d), T(2), round 4: others")
    assert set(measured.throughputs_of(2)["T(2)"]) == {2, 3, 5}


def test_where_few_are_undisturbed_all_count_and_nothing_is_left_out() -> None:
    measured = result([1, 2], [3])
    assert len(measured.paired(2).throughput) == 5
    assert measured.left_out_of(2) == ()
    assert len(measured.disturbances_of(2)) == 3


@pytest.mark.parametrize(
    ("disturbed", "rounds", "may"),
    [([], 2, True), ([1], 2, True), ([1, 2], 2, True), ([1, 2, 3], 3, False), ([2], 5, True), ([2, 4], 5, False)],
)
def test_whether_rounds_up_to_the_fifth_may_help(disturbed: list[int], rounds: int, may: bool) -> None:
    assert result(disturbed, None, rounds).may_be_undisturbed(2, 5) is may


def test_no_further_round_helps_against_what_the_code_may_do_itself() -> None:
    measured = result([1], None, 2)
    arm = SPEC.arm(2)
    runs = tuple(replace(run, outside=False) for run in measured.results[arm].runs)
    measured = replace(measured, results={**measured.results, arm: ArmResult(arm, runs)})
    assert not measured.may_be_undisturbed(2, 5)
