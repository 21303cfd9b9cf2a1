"""An arm is judged once: at the look at which it is settled, against what was stored then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.config import ComparisonPolicy, PerfConfig
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.judging import Judge
from pytest_tfperf.records.arm import Arm, Device, Recipe, Sweep, SweepSpec
from pytest_tfperf.records.baseline import Provenance
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.saving import new_entry
from pytest_tfperf.telling import rounds_to_rerun
from tests.unit.canned import judged

ENVIRONMENT = Environment({"cpu_model": "EPYC", "cpu_cores": 4, "hosts": 1}, {"tensorflow": "2.21.0"})
SPEC = SweepSpec(
    "t.py::test_a", "mlp", Recipe("multi_worker_mirrored"), Recipe("single"), (2, 4), "cpu", tolerance={2: 0.1, 4: 0.1}
)
ONE, TWO, FOUR = SPEC.reference_arm, SPEC.arm(2), SPEC.arm(4)
NOISE = (1.001, 0.999, 1.0, 1.0005, 0.9995, 1.0, 1.001, 0.999)
TEST = SPEC.test


def result(rounds: int, *, two: float = 190.0, four: float = 380.0, loud: Sequence[Arm] = ()) -> SweepResult:
    def runs(arm: Arm, speed: float) -> ArmResult:
        factors = [1 + (60 if arm in loud else 1) * (factor - 1) for factor in NOISE[:rounds]]
        made = (Run(arm, number, speed * factor, 1 / speed, ()) for number, factor in enumerate(factors, start=1))
        return ArmResult(arm, tuple(made))

    measured = {ONE: runs(ONE, 100.0), TWO: runs(TWO, two), FOUR: runs(FOUR, four)}
    return SweepResult(Sweep(SPEC, (2, 4)), measured, ENVIRONMENT, rounds, 10.0 * rounds, 1)


@pytest.fixture
def config(tmp_path: Path) -> PerfConfig:
    return PerfConfig(root=tmp_path, baselines=tmp_path / "baselines")


@pytest.fixture
def judge(config: PerfConfig) -> Judge:
    """Both counts have a baseline of eight quiet rounds."""
    store = BaselineStore(config.baselines)
    saved = Provenance("2026-11-28T01:00:00Z", "a1b2c3d4", False, TEST)
    store.save([new_entry(result(8), count, saved) for count in (2, 4)])
    return new_judge(config)


def new_judge(config: PerfConfig) -> Judge:
    def environment_of(device: Device) -> Environment:
        return ENVIRONMENT

    return Judge(config, BaselineStore(config.baselines), environment_of, (0, 1, 2, 3))


def test_a_quiet_arm_is_settled_at_the_first_look(judge: Judge) -> None:
    assert judge.settled(result(2), Look(2, 5)) == {2: "unchanged", 4: "unchanged"}


def test_the_verdict_is_that_of_the_look_at_which_it_was_settled(judge: Judge) -> None:
    assert judge.settled(result(2, loud=[FOUR]), Look(2, 5)) == {2: "unchanged"}
    # The sweep goes on for the other count; the one that is settled is judged no more, whatever its runs are now.
    assert 2 not in judge.settled(result(3, two=20.0), Look(3, 5))
    decision = judge.decision(TEST, 2)
    assert decision.verdict.verdict is Verdict.UNCHANGED
    assert decision.verdict.look == Look(2, 5)
    assert (decision.result.rounds, decision.result.seconds) == (2, 20.0)


def test_the_last_look_decides_about_all(judge: Judge) -> None:
    slower = 0.86 * 380
    assert 4 not in judge.settled(result(2, loud=[FOUR], four=slower), Look(2, 5))
    assert judge.settled(result(3, loud=[FOUR], four=slower), Look(3, 5, final=True)) == {4: "inconclusive"}
    assert judge.decision(TEST, 4).verdict.verdict is Verdict.INCONCLUSIVE


def test_without_a_baseline_nothing_is_settled_before_the_last_look(config: PerfConfig) -> None:
    judge = new_judge(config)
    assert judge.settled(result(2), Look(2, 3)) == {}
    assert judge.settled(result(3), Look(3, 3)) == {2: "no_baseline", 4: "no_baseline"}


def test_a_gain_that_two_rounds_cannot_show_is_measured_on(judge: Judge) -> None:
    assert judge.settled(result(2, two=300.0, four=600.0), Look(2, 5)) == {}
    assert judge.settled(result(3, two=300.0, four=600.0), Look(3, 5)) == {2: "improved", 4: "improved"}


def beside_others(measured: SweepResult, arm: Arm, rounds: Sequence[int], speed: float = 1.0) -> SweepResult:
    """With the arm's runs of these rounds disturbed, and as much slower for it."""

    def run(run: Run) -> Run:
        if run.round not in rounds:
            return run
        return replace(run, disturbances=("others",), outside=True, throughput=speed * run.throughput)

    made = ArmResult(arm, tuple(map(run, measured.results[arm].runs)))
    return replace(measured, results={**measured.results, arm: made})


def test_where_most_rounds_were_disturbed_nothing_is_decided_and_no_more_are_made(judge: Judge) -> None:
    assert judge.settled(beside_others(result(2, two=19.0), TWO, [1, 2]), Look(2, 5)) == {4: "unchanged"}
    assert judge.settled(beside_others(result(3, two=19.0), TWO, [1, 2, 3]), Look(3, 5)) == {2: "inconclusive"}
    assert "runs that count were disturbed" in judge.decision(TEST, 2).verdict.reasons[0]


def test_what_was_disturbed_at_the_beginning_is_made_up_for_by_the_end(judge: Judge) -> None:
    for rounds in (2, 3, 4):
        assert 2 not in judge.settled(beside_others(result(rounds, two=19.0), TWO, [1, 2]), Look(rounds, 5))
    assert judge.settled(beside_others(result(5, two=19.0), TWO, [1, 2]), Look(5, 5)) == {2: "regressed"}


def test_what_the_code_may_have_done_itself_is_never_left_out(judge: Judge) -> None:
    """It swaps in the first round, and is slow for it: that may be the very change."""
    measured = beside_others(result(3), TWO, [1], 0.5)
    own = tuple(replace(run, outside=False) for run in measured.results[TWO].runs)
    measured = replace(measured, results={**measured.results, TWO: ArmResult(TWO, own)})
    assert judge.settled(measured, Look(3, 5))[2] == "inconclusive"


def test_a_disturbed_round_is_made_up_for_by_the_others(judge: Judge) -> None:
    assert judge.settled(beside_others(result(2), TWO, [1], 0.5), Look(2, 5)) == {4: "unchanged"}
    assert judge.settled(beside_others(result(3), TWO, [1], 0.5), Look(3, 5)) == {2: "unchanged"}
    verdict = judge.decision(TEST, 2).verdict
    assert verdict.figures.throughput.value == pytest.approx(190.0, rel=0.002)
    assert verdict.figures.throughput.n == 2


def test_a_loss_is_found_though_a_round_was_disturbed(judge: Judge) -> None:
    assert 2 not in judge.settled(beside_others(result(2, two=19.0), TWO, [1]), Look(2, 5))
    assert judge.settled(beside_others(result(3, two=19.0), TWO, [1]), Look(3, 5))[2] == "regressed"
    assert judge.decision(TEST, 2).verdict.figures.throughput.value == pytest.approx(19.0, rel=0.002)


def test_of_a_last_look_half_of_whose_rounds_were_disturbed_nothing_is_decided(judge: Judge) -> None:
    measured = beside_others(result(2), TWO, [1])
    assert judge.settled(measured, Look(2, 5, final=True)) == {2: "inconclusive", 4: "unchanged"}


def test_a_disturbed_reference_leaves_the_round_out_for_every_count(judge: Judge) -> None:
    assert judge.settled(beside_others(result(2), ONE, [1], 0.5), Look(2, 5)) == {}
    assert judge.settled(beside_others(result(3), ONE, [1], 0.5), Look(3, 5)) == {2: "unchanged", 4: "unchanged"}


def test_rounds_that_do_not_count_buy_no_further_error(judge: Judge) -> None:
    """The error of a look goes by the rounds measured, so that what the machine does cannot add looks."""

    def confidence(measured: SweepResult, look: Look) -> float:
        fresh = new_judge(PerfConfig(root=judge._config.root, baselines=judge._config.baselines))
        fresh.settled(measured, look)
        return fresh.decision(TEST, 2).verdict.metrics[0].comparison.change.confidence

    assert confidence(beside_others(result(5), TWO, [1]), Look(5, 5)) == confidence(result(5), Look(5, 5))


def test_the_chance_of_an_alarm_is_split_over_the_whole_session(judge: Judge) -> None:
    def confidence() -> float:
        judge.settled(result(5), Look(5, 5))
        return judge.decision(TEST, 2).verdict.metrics[0].comparison.change.confidence

    other = replace(SPEC, test="t.py::test_b", variant="b", min_efficiency={2: 0.5}, min_speedup={4: 1.5})
    # Of each test T(1), T(N), E(N) and what both have in common, of two counts; two floors of the second.
    judge.plan([Sweep(SPEC, (2, 4)), Sweep(other, (2, 4))])
    share = 1 - (4 / 5) ** 3
    assert (1 - confidence()) / 2 == pytest.approx(ComparisonPolicy.alarm * share / (8 + 10))


def test_a_session_that_was_not_planned_judges_the_one_sweep(judge: Judge) -> None:
    judge.settled(result(5), Look(5, 5))
    change = judge.decision(TEST, 2).verdict.metrics[0].comparison.change
    assert (1 - change.confidence) / 2 == pytest.approx(ComparisonPolicy.alarm * (1 - (4 / 5) ** 3) / 8)


def test_a_floor_of_the_baseline_file_counts_too(judge: Judge, config: PerfConfig) -> None:
    (file,) = config.baselines.glob("*/*.yaml")
    file.write_text(file.read_text().replace("efficiency_floor: null", "efficiency_floor: 0.5"))
    judge.plan([Sweep(SPEC, (2, 4))])
    judge.settled(result(5), Look(5, 5))
    decision = judge.decision(TEST, 2)
    assert decision.verdict.floors[0].origin == "the baseline file"
    change = decision.verdict.metrics[0].comparison.change
    assert (1 - change.confidence) / 2 == pytest.approx(ComparisonPolicy.alarm * (1 - (4 / 5) ** 3) / (8 + 2))


def test_a_broken_baseline_is_an_error_of_its_tests_and_ends_no_sweep(judge: Judge, config: PerfConfig) -> None:
    (file,) = config.baselines.glob("*/*.yaml")
    file.write_text("<<<<<<< HEAD\n" + file.read_text())
    other = replace(SPEC, test="t.py::test_b", variant="b")
    judge.plan([Sweep(SPEC, (2, 4)), Sweep(other, (2, 4))])
    assert judge.settled(result(2), Look(2, 5)) == {2: "cannot be judged", 4: "cannot be judged"}
    with pytest.raises(BaselineError, match=file.name):
        judge.decision(TEST, 2)
    measured = result(5)
    measured = replace(measured, sweep=Sweep(other, (2, 4)))
    assert judge.settled(measured, Look(5, 5)) == {2: "no_baseline", 4: "no_baseline"}


def test_a_rerun_has_the_rounds_that_would_decide_or_else_twice_as_many() -> None:
    open_ = judged(noise=(1.04, 0.96, 1.02, 0.98, 1.0))
    needed = max(metric.comparison.rounds_needed or 0 for metric in open_.metrics if not metric.excused)
    assert open_.verdict is Verdict.INCONCLUSIVE
    assert 5 < needed <= 30
    assert rounds_to_rerun(open_, 5) == needed
    assert rounds_to_rerun(open_, needed) == 2 * needed
    hopeless = judged(noise=(1.3, 0.7, 1.1, 0.9, 1.0))
    assert rounds_to_rerun(hopeless, 5) == 10
    assert rounds_to_rerun(judged(four=15000), 5) == 10
    assert rounds_to_rerun(judged(missing="none here"), 5) == 5, "more would find no baseline either"


def test_what_the_verdict_will_be_is_foreseen_where_no_speed_changes_it(judge: Judge, config: PerfConfig) -> None:
    assert judge.foreseen(SPEC, 2) is None
    other = replace(SPEC, test="t.py::test_b", recipe=Recipe("multi_worker_mirrored", {"pack_gradients": False}))
    expected = judged_now(config, replace(result(5), sweep=Sweep(other, (2, 4))))
    assert judge.foreseen(other, 2) == (Verdict.INCOMPARABLE, expected.removeprefix("the baseline "))
    assert "strategy.pack_gradients was not set, is False; --tfperf-save replaces it" in expected
    missing = judge.foreseen(replace(SPEC, test="t.py::test_c", variant="c"), 2)
    assert missing is not None
    assert missing[0] is Verdict.NO_BASELINE


def test_nothing_is_foreseen_against_another_revision(judge: Judge, config: PerfConfig) -> None:
    opposed = new_judge(replace(config, against="main"))
    assert opposed.foreseen(replace(SPEC, test="t.py::test_c", variant="c"), 2) is None


def judged_now(config: PerfConfig, measured: SweepResult) -> str:
    """Why another judge finds it incomparable when it has been measured."""
    judge = new_judge(config)
    judge.settled(measured, Look(5, 5))
    verdict = judge.decision(measured.sweep.spec.test, 2).verdict
    assert verdict.verdict is Verdict.INCOMPARABLE
    return verdict.reasons[0]
