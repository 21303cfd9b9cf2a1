"""A run that may turn out to be an outlier takes no gate's hope away before there are enough runs to say so."""

from __future__ import annotations

import pytest

from pytest_tfperf.comparison.judge import judge_arm
from pytest_tfperf.comparison.odd_run import odd_rounds, without
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from tests.unit.canned import DEFINITION, FOUR, baseline, runs

QUIET = (1.0, 1.001, 0.999, 1.0005, 0.9995)
HELD_UP = 0.7


def paired(reference: tuple[float, ...], own: tuple[float, ...]) -> PairedRuns:
    return PairedRuns(runs(5700, reference), runs(0.05, reference), runs(20500, own), runs(0.05, own))


@pytest.mark.parametrize(
    ("reference", "own", "places"),
    [
        ((1.0, HELD_UP), QUIET[:2], {1}),  # the slower of two
        (QUIET[:2], (HELD_UP, 1.0), {0}),
        (QUIET[:3], (1.0, 1.3, 1.001), {1}),  # of three, whichever is apart
        (QUIET[:4], (1.0, 1.001, HELD_UP, 0.999), {2}),
        ((HELD_UP, 1.0, 1.001), (1.0, HELD_UP, 1.001), {0, 1}),
        (QUIET[:3], QUIET[:3], set()),
        ((0.9, 1.0, 1.1), QUIET[:3], set()),  # all are apart
        ((1.0,), (HELD_UP,), set()),  # from what?
    ],
)
def test_the_round_of_a_run_far_from_the_others(
    reference: tuple[float, ...], own: tuple[float, ...], places: set[int]
) -> None:
    look = Look(len(own), 5)
    assert odd_rounds(paired(reference, own), baseline(noise=QUIET), look) == places


def test_what_the_saved_runs_do_too_is_not_odd() -> None:
    held_up = paired((1.0, 0.95), QUIET[:2])
    assert odd_rounds(held_up, baseline(noise=QUIET), Look(2, 5)) == {1}
    assert not odd_rounds(held_up, baseline(noise=(1.0, 1.03, 0.97, 1.02, 0.98)), Look(2, 5))


def test_none_is_odd_where_none_will_be_left_out_or_already_is() -> None:
    held_up = paired((*QUIET[:4], HELD_UP), QUIET)
    assert not odd_rounds(held_up, baseline(noise=QUIET), Look(5, 10))
    assert not odd_rounds(paired((1.0, HELD_UP), QUIET[:2]), baseline(noise=QUIET), Look(2, 4))


def test_the_other_rounds_keep_their_pairs() -> None:
    left = without(PairedRuns((1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12), (13, 14, 15)), {1})
    assert left == PairedRuns((1, 3), (4, 6), (7, 9), (10, 12), (13, 15))
    assert without(PairedRuns((1, 2), (3, 4), (5, 6), (7, 8)), {0}).versus == ()


def gate(reference: tuple[float, ...], own: tuple[float, ...], planned: int) -> ArmVerdict:
    return judge_arm(
        FOUR,
        paired(reference, own),
        definition=DEFINITION,
        baseline=baseline(noise=QUIET),
        missing="",
        floors=[],
        tolerance=0.03,
        policy=ComparisonPolicy(),
        look=Look(len(own), planned),
        hypotheses=4,
    )


@pytest.mark.parametrize("own", [(1.0, HELD_UP), (HELD_UP, 1.001), (1.0, 1.001, HELD_UP), (1.0, HELD_UP, 1.001, 0.999)])
def test_a_gate_goes_on_until_the_run_is_left_out_and_is_unchanged_then(own: tuple[float, ...]) -> None:
    early = gate(QUIET[: len(own)], own, planned=5)
    assert early.verdict is Verdict.INCONCLUSIVE
    assert not early.settled
    late = gate(QUIET, (*own, *QUIET[len(own) :]), planned=5)
    assert (late.verdict, late.settled) == (Verdict.UNCHANGED, True)


def test_so_it_does_where_both_arms_were_held_up_each_in_another_round() -> None:
    for rounds in (2, 3, 4):
        assert not gate((HELD_UP, *QUIET[1:rounds]), (1.0, HELD_UP, *QUIET[2:rounds]), planned=5).settled
    assert gate((HELD_UP, *QUIET[1:]), (1.0, HELD_UP, *QUIET[2:]), planned=5).verdict is Verdict.UNCHANGED


def test_a_gate_that_will_leave_no_run_out_is_given_up() -> None:
    assert gate(QUIET[:3], (1.0, 1.001, HELD_UP), planned=4).settled
    assert not gate(QUIET[:3], (1.0, 1.001, HELD_UP), planned=5).settled
