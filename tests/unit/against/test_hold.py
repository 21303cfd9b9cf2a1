"""The other revision's runs become what an arm is judged against, round by round, and the report says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_tfperf.against.hold import held_definition, held_opponent, other_fact_lines
from pytest_tfperf.comparison.judge import judge_arm
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.errors import OtherSideError
from pytest_tfperf.records.against import Opponent, Revision
from pytest_tfperf.records.arm import Arm, Recipe, Sweep, SweepSpec
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.run import ArmResult, Run, TaskRun, Window
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.records.task import TaskId
from pytest_tfperf.report.text import failure_text
from pytest_tfperf.report.view import arm_view

RECIPE = Recipe("multi_worker_mirrored", {}, {"batch_size": 8})
SPEC = SweepSpec("t.py::test_a", "ours", RECIPE, Recipe("single", {}, {"batch_size": 8}), (2, 4), "cpu")
ONE, TWO = SPEC.reference_arm, SPEC.arm(2)
CORES = (0, 1, 2, 3)
MAIN = Revision("main", "abc1234" + 33 * "0")
OPPONENT = Opponent(
    MAIN,
    definition=held_definition(SPEC, CORES),
    replicas=(2,),
    soft={"tensorflow": "2.20.0"},
    facts={TWO: ("variables: 5", "same: yes")},
)


def result(here: float, there: float, *, rounds_there: tuple[int, ...] = (1, 2, 3), **of_opponent: Any) -> SweepResult:
    def runs(arm: Arm, throughput: float, rounds: tuple[int, ...], facts: dict[str, str]) -> ArmResult:
        task = TaskRun(
            TaskId("worker", 0), 8, 1, (), True, (Window(0.0, 1.0, 1),), 1, 1, False, (0.0,), True, facts=facts
        )
        noise = {1: 1.0, 2: 1.002, 3: 0.999}
        made = (Run(arm, n, throughput * noise[n], 8 / throughput, (task,), warnings=("odd",)) for n in rounds)
        return ArmResult(arm, tuple(made))

    facts = {"variables": "7", "same": "yes"}
    return SweepResult(
        Sweep(SPEC, (2,)),
        {ONE: runs(ONE, 100.0, (1, 2, 3), facts), TWO: runs(TWO, here, (1, 2, 3), facts)},
        Environment({"cpu_model": "EPYC"}, {"tensorflow": "2.21.0"}),
        rounds=3,
        seconds=9.0,
        against={ONE: runs(ONE, 100.0, rounds_there, {}), TWO: runs(TWO, there, rounds_there, {})},
        opponent=replace(OPPONENT, **of_opponent),
    )


def judged(measured: SweepResult) -> ArmVerdict:
    held = held_opponent(measured, 2, held_definition(SPEC, CORES))
    return judge_arm(
        TWO,
        measured.paired(2),
        definition=held.definition,
        baseline=held.baseline,
        missing=held.missing,
        floors=[],
        tolerance=0.05,
        policy=ComparisonPolicy(),
        look=Look(3, 3),
        hypotheses=3,
        against=held.runs,
    )


def test_runs_are_paired_by_round() -> None:
    there = result(150, 190, rounds_there=(2, 3)).paired_against(2)
    here = result(150, 190, rounds_there=(2, 3)).paired(2)
    assert there is not None
    assert there.throughput == pytest.approx((190 * 1.002, 190 * 0.999))
    assert here.throughput == pytest.approx((150 * 1.002, 150 * 0.999))
    assert len(here.reference) == len(there.reference) == len(there.step_time) == 2


def test_without_another_side_every_round_counts() -> None:
    alone = replace(result(150, 190), against={}, opponent=None)
    assert alone.paired_against(2) is None
    assert len(alone.paired(2).throughput) == 3


def test_an_error_of_either_side_is_the_arms() -> None:
    measured = result(150, 190)
    error = OtherSideError("main (abc1234): gone")
    failed = replace(measured, results={**measured.results, TWO: ArmResult(TWO, (), error)})
    assert failed.error_of(2) is error


def test_slower_than_the_other_revision_is_a_regression() -> None:
    assert judged(result(150, 190)).verdict is Verdict.REGRESSED
    assert judged(result(190, 190)).verdict is Verdict.UNCHANGED


def test_the_report_names_the_revision() -> None:
    measured = result(150, 190)
    view = arm_view(
        judged(measured),
        environment=measured.environment,
        soft_changes=[("tensorflow", "2.20.0", "2.21.0")],
        warnings=measured.warnings_of(2),
        details=other_fact_lines(measured, 2),
        rounds=3,
        seconds=9.0,
        command="pytest",
        against=MAIN,
    )
    text = failure_text(view)
    assert view.title == "ours / multi_worker_mirrored / 2 CPU ranks on EPYC, against main (abc1234)"
    assert view.footer == "3 rounds in 9.00 s, against main (abc1234). Again: pytest"
    assert "Since main (abc1234): tensorflow 2.20.0 -> 2.21.0." in text
    assert "T(2) at main (abc1234), variables: 5" in text
    assert "same: yes" not in text
    assert "Odd: at main (abc1234), T(2), odd." in text
    assert text.splitlines()[1].split() == ["main", "now", "change"]


def test_another_definition_is_incomparable_and_named() -> None:
    other = {**held_definition(SPEC, CORES), "workload.batch_size": 16, "workload": "theirs"}
    verdict = judged(replace(result(150, 190, definition=other), against={}))
    assert verdict.verdict is Verdict.INCOMPARABLE
    assert "workload was theirs, is ours" in verdict.reasons[0]
    assert "workload.batch_size was 16, is 8" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"missing": "main (abc1234) skips this test"}, "main (abc1234) skips this test"),
        ({"replicas": (1,)}, "new in this checkout: main (abc1234) does not measure 2 replicas in this test"),
    ],
)
def test_nothing_there_is_no_baseline(change: dict[str, Any], reason: str) -> None:
    verdict = judged(replace(result(150, 190), against={}, opponent=replace(OPPONENT, **change)))
    assert verdict.verdict is Verdict.NO_BASELINE
    assert verdict.reasons[0].startswith(reason)
