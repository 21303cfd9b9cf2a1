"""What is told beside a verdict, from canned sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_tfperf.diagnosis.findings import findings
from pytest_tfperf.diagnosis.superlinear import above_one
from pytest_tfperf.records.against import Opponent, Revision
from pytest_tfperf.records.arm import Recipe, Sweep, SweepSpec
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.refusals import unfit
from pytest_tfperf.report.text import failure_text, summary_lines
from pytest_tfperf.report.view import arm_view
from tests.unit.canned import baseline, judged
from tests.unit.diagnosis.test_straggler import run

SPEC = SweepSpec(
    test="test_a.py::test_a",
    workload="resnet50",
    recipe=Recipe("multi_worker_mirrored"),
    reference=Recipe("single"),
    replicas=(4,),
    device="gpu",
)


def result(four: Sequence[Run], one: Sequence[Run] = ()) -> SweepResult:
    sweep = Sweep(SPEC, (4,))
    arms = {SPEC.reference_arm: one, SPEC.arm(4): four}
    results = {arm: ArmResult(arm, tuple(replace(each, arm=arm) for each in runs)) for arm, runs in arms.items()}
    return SweepResult(sweep, results, Environment({"gpu_model": "H100"}, {}), 3, 10.0)


EVEN = [run(number, [0.05] * 4) for number in (1, 2, 3)]


def test_nothing_is_told_where_all_went_as_it_should() -> None:
    assert findings(result(EVEN, EVEN), judged()) == ()


def test_a_straggler_is_told() -> None:
    (text,) = findings(result([run(number, [0.05, 0.05, 0.05, 0.06]) for number in (1, 2, 3)], EVEN), judged())
    assert text.startswith("Straggler: worker:3")


def test_disturbed_and_repeated_runs_of_every_arm_are_told() -> None:
    four = [EVEN[0], replace(EVEN[1], discarded=(("a", "b"), ("c",)), attempts=3), EVEN[2]]
    one = [replace(EVEN[0], disturbances=("others",), outside=True, discarded=(("others",),), attempts=2), *EVEN[1:]]
    measured = result(four, one)
    assert measured.disturbances_of(4) == ()
    assert measured.left_out_of(4) == ("T(1), round 1: others",)
    assert findings(measured, judged()) == (
        "Left out, with all of their rounds, as they were disturbed: T(1), round 1: others.",
        "3 runs were disturbed and made again: T(4), round 2, attempt 1: a; b | T(4), round 2, attempt 2: c | "
        "T(1), round 1, attempt 1: others.",
    )


def test_where_most_rounds_were_disturbed_all_count_and_are_told() -> None:
    hot = [replace(each, disturbances=("too hot",)) for each in EVEN[:2]]
    measured = result([*hot, EVEN[2]], EVEN)
    assert measured.left_out_of(4) == ()
    assert findings(measured, judged()) == (
        "Disturbed runs that count: T(4), round 1: too hot | T(4), round 2: too hot.",
    )


def test_of_many_some_are_told() -> None:
    many = [replace(each, discarded=(("a",), ("b",))) for each in EVEN]
    (text,) = findings(result(many, EVEN), judged())
    assert text.startswith("6 runs were disturbed and made again: ")
    assert text.endswith(" | and 3 more.")


def test_runs_that_are_left_out_are_told_and_with_their_rounds() -> None:
    def made(*speeds: float) -> list[Run]:
        return [replace(EVEN[0], round=number, throughput=speed) for number, speed in enumerate(speeds, start=1)]

    steady = made(1000, 1001, 1002, 1001, 1000)
    assert findings(result(made(4000, 4004, 2800, 4008, 4000), steady), judged()) == (
        "Left out: T(4) of round 3, 2 800 examples/s, is 30.1 % below the other 4 runs, which are within 0.2 %.",
    )
    (text,) = findings(result(made(4000, 4004, 4001, 4008, 4000), made(1000, 1001, 1000, 1000, 700)), judged())
    assert text.startswith("Left out: T(1) of round 5, 700.0 examples/s, is 30.0 % below the other 4 runs")
    # Of the other revision's runs too, where there are such.
    there = Opponent(Revision("main", "a1b2c3d4e5"), replicas=(4,))
    both = replace(
        result(steady, steady), against=result(made(4000, 4004, 2800, 4008, 4000), steady).results, opponent=there
    )
    (text,) = findings(both, judged())
    assert text.startswith("Left out: at main (a1b2c3d), T(4) of round 3, 2 800 examples/s")
    # A run that nobody would care for is not worth a sentence.
    assert findings(result(made(4000, 4001, 4000, 4001, 4030), steady), judged()) == ()


def test_they_are_in_a_failure_and_under_the_line_of_a_passed_arm() -> None:
    verdict = judged()
    view = arm_view(
        verdict,
        environment=Environment({"gpu_model": "H100"}, {}),
        soft_changes=(),
        warnings=(),
        details=(),
        rounds=5,
        seconds=1.0,
        command="pytest",
        findings=("Straggler: worker:3 is slow.",),
    )
    assert "Straggler: worker:3 is slow." in failure_text(view).splitlines()
    assert [line for line, _ in summary_lines([view])][1:] == ["    Straggler: worker:3 is slow."]


def test_a_straggler_is_looked_for_in_the_rounds_that_count() -> None:
    """In the last one another rank was held up by what disturbed it."""
    slow = [run(number, [0.05, 0.05, 0.05, 0.058]) for number in (1, 2, 3, 4, 5)]
    held_up = replace(run(6, [0.1, 0.05, 0.05, 0.058]), disturbances=("others",), outside=True)
    one = [run(number, [0.05] * 4) for number in range(1, 7)]
    texts = findings(result([*slow, held_up], one), judged())
    assert [text.partition(" needs")[0] for text in texts if "Straggler" in text] == ["Straggler: worker:3"]


def test_disturbed_rounds_are_not_saved_and_the_others_are_where_they_are_enough() -> None:
    def refused(rounds: int, disturbed: Sequence[int]) -> str:
        runs = [run(number, [0.05] * 4) for number in range(1, rounds + 1)]
        hot = [replace(each, disturbances=("hot",), outside=True) for each in runs]
        four = [hot[each.round - 1] if each.round in disturbed else each for each in runs]
        return str(unfit(result(four, runs), 4, 0.05) or "")

    assert refused(3, []) == ""
    assert refused(3, [1]) == "something disturbed all but 2 rounds (T(4), round 1: hot); save on a quiet machine"
    assert refused(4, [1]) == ""
    told = "something disturbed runs that count (T(4), round 1: hot; T(4), round 4: hot); save on a quiet machine"
    assert refused(4, [1, 4]) == told
    assert refused(5, [1, 4]) == ""
    assert refused(5, [2, 4]).startswith("something disturbed runs that count")


def estimate(value: float, low: float, high: float, n: int = 5) -> Estimate:
    return Estimate(value, low, high, 0.95, n)


def test_efficiency_that_is_surely_above_one_is_suspect() -> None:
    text = above_one(estimate(1.08, 1.05, 1.11), 2)
    assert text.startswith("E(2) is 1.08 [1.05, 1.11], above 1: suspect T(1). It may have been disturbed")
    (told,) = findings(result(EVEN, EVEN), judged(one=5700, four=4 * 5700 * 1.08))
    assert told.startswith("E(4) is 1.08 [")


@pytest.mark.parametrize(
    ("efficiency", "replicas"),
    [
        (estimate(1.08, 0.99, 1.18), 2),
        (estimate(0.95, 0.94, 0.96), 2),
        (estimate(1.2, 1.1, 1.3), 1),
        (estimate(1.2, 0.0, float("inf"), n=1), 2),
    ],
)
def test_efficiency_that_is_not(efficiency: Estimate, replicas: int) -> None:
    assert above_one(efficiency, replicas) == ""


@pytest.mark.parametrize(
    ("forced", "told"),
    [
        (["too noisy"], ["The stored session was saved by force: that of 2026-11-20, although too noisy."]),
        (
            ["its test failed", ""],
            ["1 of 2 stored sessions was saved by force: that of 2026-11-19, although its test failed."],
        ),
        (
            ["its test failed", "", "too noisy"],
            [
                "2 of 3 stored sessions were saved by force: that of 2026-11-20, although too noisy | that of "
                "2026-11-18, although its test failed."
            ],
        ),
        ([""], []),
    ],
)
def test_a_baseline_that_was_saved_by_force_is_told(forced: Sequence[str], told: Sequence[str]) -> None:
    stored = baseline(sessions=[1.0] * len(forced))
    sessions = tuple(
        replace(session, provenance=replace(session.provenance, forced=why))
        for session, why in zip(stored.sessions, forced, strict=True)
    )
    assert list(findings(result(EVEN, EVEN), judged(stored=replace(stored, sessions=sessions)))) == told
