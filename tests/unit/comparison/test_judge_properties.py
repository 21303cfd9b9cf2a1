"""What must hold for any runs that are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.comparison.effect import UNKNOWN_DAYS, figures
from pytest_tfperf.comparison.floors import Floor
from pytest_tfperf.comparison.judge import judge_arm
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.comparison import ArmVerdict, MetricVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.report.text import failure_text
from pytest_tfperf.report.view import arm_view
from pytest_tfperf.stats.spending import look_rounds
from pytest_tfperf.stats.summary import centre, logs_of
from tests.unit.canned import DEFINITION, FOUR, baseline

TOLERANCE = 0.0307
Runs = Sequence[float]


@dataclass(frozen=True)
class Side:
    """Runs of T(1) and of T(4), one a round; an odd last one of the longer side is left out."""

    one: Runs
    four: Runs

    def times(self, factors: Runs) -> Side:
        return Side([r * by for r, by in zip(self.one, factors)], [r * by for r, by in zip(self.four, factors)])

    def scaled(self, factor: float) -> Side:
        return self.times([factor] * len(self.one))

    @property
    def paired(self) -> PairedRuns:
        return PairedRuns(tuple(self.one), (0.05,) * len(self.one), tuple(self.four), (0.05,) * len(self.four))


def judge(now: Side, before: Sequence[Side], *, paired: bool = False, **changes: Any) -> ArmVerdict:
    """Judge at the only look, unless `changes` say otherwise; `paired`: the side before is of the same rounds."""
    stored = baseline()
    sessions = tuple(
        replace(stored.latest, reference_throughput=tuple(each.one), throughput=tuple(each.four)) for each in before
    )
    given: dict[str, Any] = {
        "definition": DEFINITION,
        "baseline": replace(stored, sessions=sessions),
        "missing": "",
        "floors": (),
        "tolerance": TOLERANCE,
        "policy": ComparisonPolicy(),
        "look": Look(len(now.one), len(now.one)),
        "hypotheses": 3,
        "against": before[0].paired if paired else None,
    }
    return judge_arm(FOUR, now.paired, **{**given, **changes})


def by_metric(verdict: ArmVerdict) -> Mapping[str, MetricVerdict]:
    return {metric.comparison.metric: metric for metric in verdict.metrics}


def verdicts(verdict: ArmVerdict) -> list[Verdict]:
    return [verdict.verdict, *(metric.verdict for metric in verdict.metrics)]


@st.composite
def sides(draw: st.DrawFn, rounds: int | None = None, fewest: int = 2) -> Side:
    """Speeds around the usual ones: up to 20 % to either side, with noise of a run from none to some percent."""
    count = rounds or draw(st.integers(fewest, 10))
    noise = draw(st.sampled_from([0.0, 1e-4, 0.003, 0.01, 0.05]))
    speeds = [draw(st.floats(0.8, 1.25)), draw(st.floats(0.8, 1.25))]
    factors = st.lists(st.floats(-1.7, 1.7), min_size=count, max_size=count)
    one, four = ([speed * exp(noise * z) for z in draw(factors)] for speed in speeds)
    return Side([5700 * each for each in one], [20500 * each for each in four])


baselines = st.lists(sides(), min_size=1, max_size=4)
wild = st.floats(1e-30, 1e30)


@given(st.integers(1, 12), st.lists(st.integers(1, 12), min_size=1, max_size=4), st.data())
def test_any_runs_are_judged_and_told(rounds: int, counts: list[int], data: st.DataObject) -> None:
    """No exception, no `inf` and no `nan` for a reader, and the parts of a verdict fit each other."""

    def any_side(count: int) -> Side:
        values = st.lists(wild, min_size=count, max_size=count)
        return Side(data.draw(values), data.draw(values))

    paired = data.draw(st.booleans())
    now = any_side(rounds)
    before = [any_side(rounds)] if paired else [any_side(count) for count in counts]
    planned = data.draw(st.integers(rounds, 20))
    floors = [Floor("efficiency", data.draw(st.floats(0.01, 1.5)), "the test")] if data.draw(st.booleans()) else []
    verdict = judge(
        now,
        before,
        paired=paired,
        floors=floors,
        tolerance=data.draw(st.sampled_from([1e-9, 0.03, 0.5, 0.999, 1.0])),
        look=Look(rounds, planned, final=rounds not in look_rounds(planned)),
        hypotheses=data.draw(st.integers(1, 1000)),
        disturbed=data.draw(st.sampled_from([(), ("too hot",)])),
    )
    if verdict.verdict is Verdict.REGRESSED or verdict.look == Look(planned, planned):
        assert verdict.settled
    if verdict.verdict is Verdict.INCONCLUSIVE:
        assert verdict.reasons
    text = failure_text(
        arm_view(
            verdict,
            environment=Environment({"gpu_model": "H100"}, {}),
            soft_changes=(),
            warnings=(),
            details=(),
            rounds=rounds,
            seconds=1.0,
            command="pytest",
        )
    )
    assert "inf" not in text
    assert "nan" not in text


def test_numbers_at_the_ends_of_what_a_float_holds() -> None:
    huge, tiny = Side([1e150, 1.1e150, 1e150], [1e150] * 3), Side([1e-150, 1.1e-150, 1e-150], [1e-150] * 3)
    assert by_metric(judge(huge, [tiny]))["throughput"].verdict is Verdict.IMPROVED
    assert by_metric(judge(tiny, [huge]))["throughput"].verdict is Verdict.REGRESSED


@given(sides(), baselines, st.floats(0.0, 5.0))
def test_what_is_faster_is_never_regressed_and_what_is_slower_never_improved(
    now: Side, before: list[Side], more: float
) -> None:
    def past(own: Runs, others: list[Runs]) -> tuple[list[float], list[float]]:
        """The runs moved so that the slowest is faster than any before, and the other way round."""
        flat = [value for other in others for value in other]
        up, down = (1 + more) * max(flat) / min(own), min(flat) / max(own) / (1 + more)
        return [value * up for value in own], [value * down for value in own]

    fast_one, slow_one = past(now.one, [each.one for each in before])
    fast_four, slow_four = past(now.four, [each.four for each in before])
    faster = by_metric(judge(Side(fast_one, fast_four), before))
    slower = by_metric(judge(Side(slow_one, slow_four), before))
    for name in ("reference", "throughput"):
        assert faster[name].verdict is not Verdict.REGRESSED
        assert slower[name].verdict is not Verdict.IMPROVED


@given(sides(), baselines)
def test_a_decision_has_the_direction_and_the_size_that_it_says(now: Side, before: list[Side]) -> None:
    for metric in judge(now, before).metrics:
        change = metric.comparison.change
        if metric.verdict is Verdict.REGRESSED:
            assert change.value < 1 - TOLERANCE
        elif metric.verdict is Verdict.IMPROVED:
            assert change.value > 1 + TOLERANCE
            assert change.low > 1
        elif metric.verdict is Verdict.UNCHANGED:
            assert metric.comparison.assured.low >= 1 - TOLERANCE


@given(sides(), sides())
def test_swapping_now_and_before_turns_a_loss_into_a_gain(now: Side, before: Side) -> None:
    """Not quite the other way round: a gain of 3.1 % is a loss of 3.0 %."""
    look = Look(5, 5)
    forth = by_metric(judge(now, [before], look=look))
    back = by_metric(judge(before, [now], look=look))
    for name, metric in forth.items():
        if metric.verdict is Verdict.REGRESSED:
            assert back[name].verdict is not Verdict.REGRESSED
            assert back[name].comparison.change.value > 1
            # What both lost is found in their mean; what both gained is not looked for there. So of a loss that the
            # figure's own interval shows.
            if metric.comparison.change.high < 1 and name != "common":
                assert back[name].verdict is Verdict.IMPROVED
        if metric.verdict is Verdict.IMPROVED:
            assert back[name].verdict is not Verdict.IMPROVED
            assert back[name].comparison.change.high < 1


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.integers(2, 12), st.integers(1, 4))
def test_without_any_noise_the_size_decides(one: float, four: float, rounds: int, sessions: int) -> None:
    """A change counts, however small the number of runs, once it is beyond the tolerance and what a day may do.

    Of a loss half may be the other arm's too: then it is their mean that must be beyond both.
    """
    sure = exp(2 * UNKNOWN_DAYS)
    found = by_metric(judge(Side([one] * rounds, [four] * rounds), [Side([1.0] * 3, [1.0] * 3)] * sessions))
    for name, ratio in (("reference", one), ("throughput", four)):
        if ratio < 1 / sure:
            assert found[name].verdict is Verdict.REGRESSED
        elif ratio > sure:
            assert found[name].verdict is Verdict.IMPROVED
        elif ratio > 1 - 0.99 * TOLERANCE:
            assert found[name].verdict is Verdict.UNCHANGED or ratio > 1 + 0.99 * TOLERANCE


@given(sides(), baselines, st.integers(-90, 90))
def test_the_unit_changes_no_verdict(now: Side, before: list[Side], power: int) -> None:
    factor = 2.0**power
    plain, scaled = judge(now, before), judge(now.scaled(factor), [each.scaled(factor) for each in before])
    assert verdicts(plain) == verdicts(scaled)


@given(sides(), baselines, st.randoms(use_true_random=False))
def test_the_order_of_rounds_changes_no_verdict(now: Side, before: list[Side], random: Any) -> None:
    def shuffled(side: Side) -> Side:
        order = random.sample(range(len(side.one)), len(side.one))
        return Side([side.one[number] for number in order], [side.four[number] for number in order])

    assert verdicts(judge(now, before)) == verdicts(judge(shuffled(now), [shuffled(each) for each in before]))


@given(sides(), sides(), st.floats(1.0, 20.0))
def test_more_noise_at_the_same_means_never_raises_an_alarm(now: Side, before: Side, factor: float) -> None:
    """Against one session; each figure alone, as T(1) and T(N) that noise hides say nothing of E(N) any more."""

    def louder(runs: Runs) -> list[float]:
        middle = centre(logs_of(runs)).mean
        return [exp(middle + factor * (log(value) - middle)) for value in runs]

    quiet = by_metric(judge(now, [before]))
    loud = by_metric(judge(Side(louder(now.one), louder(now.four)), [before]))
    for name in ("reference", "throughput"):
        if quiet[name].verdict is not Verdict.REGRESSED:
            assert loud[name].verdict is not Verdict.REGRESSED or loud[name].reason


@given(sides(), baselines, st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_a_wider_tolerance_never_makes_a_regression_of_what_is_unchanged(
    now: Side, before: list[Side], one: float, other: float
) -> None:
    narrow = judge(now, before, tolerance=min(one, other))
    wide = judge(now, before, tolerance=max(one, other))
    if narrow.verdict is Verdict.UNCHANGED:
        assert wide.verdict is Verdict.UNCHANGED
    for metric, wider in zip(narrow.metrics, wide.metrics):
        if metric.verdict is Verdict.UNCHANGED:
            assert wider.verdict is Verdict.UNCHANGED
        if wider.verdict is Verdict.REGRESSED and not wider.reason:
            assert metric.verdict is Verdict.REGRESSED


@given(sides(), baselines, st.integers(1, 100), st.integers(1, 100))
def test_more_hypotheses_never_add_an_alarm(now: Side, before: list[Side], one: int, other: int) -> None:
    """Of a figure alone; an arm may lose the certainty that T(1) got faster, which excuses a fall of E(N)."""
    few, many = (judge(now, before, hypotheses=count) for count in (min(one, other), max(one, other)))
    for metric, stricter in zip(few.metrics, many.metrics):
        if stricter.verdict is Verdict.REGRESSED:
            assert metric.verdict is Verdict.REGRESSED
    if many.verdict is Verdict.REGRESSED and not any(metric.excused for metric in few.metrics):
        assert few.verdict is Verdict.REGRESSED


@given(sides(), baselines, st.integers(3, 10))
def test_a_look_never_alarms_where_the_last_one_would_not(now: Side, before: list[Side], planned: int) -> None:
    """The same runs at an early look, and were that the only one."""
    rounds = len(now.one)
    early = judge(now, before, look=Look(rounds, max(rounds, planned), final=True))
    alone = judge(now, before, look=Look(rounds, max(rounds, planned), alone=True))
    for metric, freer in zip(early.metrics, alone.metrics):
        if metric.verdict is Verdict.REGRESSED and not metric.reason:
            assert freer.verdict is Verdict.REGRESSED


@given(sides(), baselines, st.floats(0.0, 0.3))
def test_sessions_further_apart_never_raise_an_alarm(now: Side, before: list[Side], apart: float) -> None:
    """Sessions with one mean, then moved apart about it."""

    def moved(by: float) -> list[Side]:
        means = [(centre(logs_of(each.one)).mean, centre(logs_of(each.four)).mean) for each in before]
        steps = [by * (number - (len(before) - 1) / 2) for number in range(len(before))]
        return [
            Side([r * exp(step - one) for r in each.one], [r * exp(step - four) for r in each.four])
            for each, (one, four), step in zip(before, means, steps)
        ]

    now = Side([each / 5700 for each in now.one], [each / 20500 for each in now.four])
    near, far = by_metric(judge(now, moved(0.0))), by_metric(judge(now, moved(apart)))
    for name in ("reference", "throughput"):
        if far[name].verdict is Verdict.REGRESSED and not far[name].reason:
            assert near[name].verdict is Verdict.REGRESSED


@given(st.data(), st.integers(2, 8))
def test_a_drift_changes_nothing_for_another_revision_in_the_same_rounds(data: st.DataObject, rounds: int) -> None:
    now, there = data.draw(sides(rounds)), data.draw(sides(rounds))
    drift = data.draw(st.lists(st.floats(0.2, 5.0), min_size=rounds, max_size=rounds))
    still = judge(now, [there], paired=True)
    drifting = judge(now.times(drift), [there.times(drift)], paired=True)
    assert verdicts(still) == verdicts(drifting)
    for one, other in zip(still.metrics, drifting.metrics):
        assert one.comparison.change.value == pytest.approx(other.comparison.change.value)
        assert one.comparison.sessions == 0


@given(sides(), baselines, st.sampled_from(["baseline", "none", "other"]), st.booleans())
def test_disturbed_runs_never_decide(now: Side, before: list[Side], stored: str, floor: bool) -> None:
    changes: dict[str, Any] = {"floors": [Floor("efficiency", 0.9, "the test")] if floor else []}
    if stored == "none":
        changes |= {"baseline": None, "missing": "none here"}
    elif stored == "other":
        changes |= {"definition": {**DEFINITION, "workload.batch_size": 1}}
    verdict = judge(now, before, disturbed=["too hot"], **changes)
    assert verdict.verdict not in (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNCHANGED)
    assert all(metric.verdict is Verdict.INCONCLUSIVE and not metric.excused for metric in verdict.metrics)
    assert all(each.verdict is Verdict.INCONCLUSIVE and not each.open for each in verdict.floors)
    assert "runs that count were disturbed" in verdict.reasons[0]


@given(sides(rounds=1), baselines)
def test_one_run_never_decides(now: Side, before: list[Side]) -> None:
    assert set(verdicts(judge(now, before))) == {Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), inf])
@pytest.mark.parametrize("arm", ["one", "four"])
def test_what_is_no_speed_is_refused_and_named(bad: float, arm: str) -> None:
    good = Side([1.0, 1.1], [4.0, 4.1])
    wrong = replace(good, **{arm: [1.0, bad]})
    for now, before, paired in ((wrong, good, False), (good, wrong, False), (good, wrong, True), (wrong, wrong, True)):
        with pytest.raises(ValueError, match=rf"^{bad}( among .*)? is not a positive, finite number"):
            judge(now, [before], paired=paired)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), inf])
def test_so_is_a_speed_that_there_must_be_a_speed_up_over(bad: float) -> None:
    runs = replace(Side([1.0, 1.1], [4.0, 4.1]).paired, versus=(1.0, bad))
    with pytest.raises(ValueError, match=f"^{bad} among the runs to be faster than is not a positive, finite number"):
        figures(runs, 4)
    with pytest.raises(ValueError, match="1 runs to be faster than for 2 runs"):
        figures(replace(runs, versus=(1.0,)), 4)


def test_runs_without_their_pairs_are_refused() -> None:
    good, short = Side([1.0, 1.1], [4.0, 4.1]), Side([1.0, 1.1], [4.0])
    with pytest.raises(ValueError, match="2 reference runs for 1 runs"):
        judge(short, [good])
    with pytest.raises(ValueError, match="2 reference runs for 1 runs"):
        judge(good, [short])
    with pytest.raises(ValueError, match="2 runs for 1: they are not paired"):
        judge(good, [Side([1.0], [4.0])], paired=True)


def test_a_round_at_which_nothing_is_looked_at_is_refused() -> None:
    good = Side([1.0, 1.1], [4.0, 4.1])
    with pytest.raises(ValueError, match="no look is planned after round 6 of 10"):
        judge(good, [good], look=Look(6, 10))
