"""Every direction of a verdict, from canned throughputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.comparison.effect import UNKNOWN_DAYS
from pytest_tfperf.comparison.judge import hypotheses_of, judge_arm, judge_metric
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.diagnosis.moved import what_moved
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from tests.unit.canned import DEFINITION, FOUR, NOISE, baseline, judged, runs


def by_label(verdict: ArmVerdict) -> dict[str, str]:
    """Verdicts of all but what T(1) and T(N) have in common, where that decides nothing."""
    told = [metric for metric in verdict.metrics if metric.comparison.metric != "common" or not metric.excused]
    return {metric.comparison.label: str(metric.verdict) for metric in told}


def test_identical_code_is_unchanged() -> None:
    verdict = judged()
    assert verdict.verdict is Verdict.UNCHANGED
    assert set(by_label(verdict).values()) == {"unchanged"}
    assert what_moved(verdict) == ""


def test_slower_scaling_names_tn_and_en() -> None:
    verdict = judged(four=18000)
    assert verdict.verdict is Verdict.REGRESSED
    assert by_label(verdict) == {"T(1)": "unchanged", "T(4)": "regressed", "E(4)": "regressed"}
    assert what_moved(verdict) == (
        "What moved: T(4) and E(4). One replica is as fast as before, so the loss is in scaling, not in the model."
    )


def test_at_one_replica_the_loss_is_the_strategys() -> None:
    """A reference without a strategy says nothing of scaling, and nor does one replica beside it."""
    stored = replace(baseline(one=5700, four=5650), replicas=1)
    one = replace(FOUR, replicas=1)
    assert what_moved(judged(four=4400, stored=stored, arm=one)) == (
        "What moved: T(1) multi_worker_mirrored and E(1). The reference is as fast as before, so the loss is in the "
        "strategy, not in the model."
    )
    both = judged(one=5000, four=5650 * 5000 / 5700, stored=stored, arm=one)
    assert "the loss is in the model, not in the strategy" in what_moved(both)
    assert "The reference got slower while T(1) multi_worker_mirrored did not;" in what_moved(
        judged(one=5000, four=5650, stored=stored, arm=one)
    )


def test_a_slower_reference_fails_though_efficiency_rose() -> None:
    verdict = judged(one=5000)
    assert verdict.verdict is Verdict.REGRESSED
    assert by_label(verdict) == {"T(1)": "regressed", "T(4)": "unchanged", "E(4)": "improved"}
    assert "What moved: T(1)." in what_moved(verdict)
    assert "efficiency alone would have hidden it" in what_moved(verdict)


def test_what_lost_unlike_is_not_said_to_have_lost_alike() -> None:
    """E(4) doubled in noise that does not tell so for sure."""
    noisy = (1.5, 0.6, 1.4, 0.7, 1.0)
    verdict = judged(one=300, four=2 * 20500 * 300 / 5700, stored=baseline(noise=noisy), noise=noisy)
    assert by_label(verdict)["E(4)"] not in ("improved", "regressed")
    assert "All got slower; E(4) looks higher, though not for sure." in what_moved(verdict)


def test_a_slower_model_is_told_from_slower_scaling() -> None:
    verdict = judged(one=5000, four=20500 * 5000 / 5700)
    assert by_label(verdict) == {
        "T(1)": "regressed", "T(4)": "regressed", "E(4)": "unchanged", "T(1) x T(4)": "regressed",
    }  # fmt: skip
    assert "the loss is in the model, not in scaling" in what_moved(verdict)


def test_faster_is_improved_and_passes() -> None:
    verdict = judged(one=6300, four=20500 * 6300 / 5700)
    assert verdict.verdict is Verdict.IMPROVED
    assert what_moved(verdict) == "Faster: T(1), T(4)."


def test_a_faster_reference_does_not_make_the_fall_of_efficiency_a_failure() -> None:
    verdict = judged(one=6300)
    assert verdict.verdict is Verdict.IMPROVED
    assert by_label(verdict)["E(4)"] == "regressed"
    assert "E(4) fell because T(1) got faster; nothing got slower" in verdict.reasons


def test_an_efficiency_that_noise_leaves_open_does_not_hide_that_all_got_faster() -> None:
    wild = (0.8, 1.2, 1.0, 0.85, 1.15)
    verdict = judged(one=57000, four=205000, noise=wild, stored=baseline(noise=wild))
    assert by_label(verdict) == {"T(1)": "improved", "T(4)": "improved", "E(4)": "inconclusive"}
    assert verdict.verdict is Verdict.IMPROVED
    assert "E(4) may have fallen because T(1) got faster; nothing got slower" in verdict.reasons


def test_both_moving_apart_within_the_tolerance_is_scaling() -> None:
    verdict = judged(one=5700 * 1.025, four=20500 * 0.975)
    assert by_label(verdict) == {"T(1)": "unchanged", "T(4)": "unchanged", "E(4)": "regressed"}
    assert "they moved apart" in what_moved(verdict)


def test_a_large_but_uncertain_loss_is_inconclusive_not_regressed() -> None:
    wild = (0.7, 1.3, 1.0, 0.8, 1.25)
    verdict = judged(four=18000, noise=wild, stored=baseline(noise=wild))
    assert verdict.verdict is Verdict.INCONCLUSIVE
    assert any("cannot be ruled out at this noise" in reason for reason in verdict.reasons)


def test_a_certain_but_small_loss_is_unchanged() -> None:
    assert judged(one=5700 * 0.985, four=20500 * 0.985).verdict is Verdict.UNCHANGED


def with_common_noise(one: float, four: float) -> ArmVerdict:
    """Runs whose noise both arms of a round share, against the usual speeds, saved with the same noise."""
    wild = (0.7, 1.3, 1.0, 0.8, 1.25)
    stored = baseline()
    session = replace(stored.latest, reference_throughput=runs(5700, wild), throughput=runs(20500, wild))
    return judge_arm(
        FOUR,
        PairedRuns(runs(one, wild), runs(0.05, wild), runs(four, wild), runs(0.05, wild)),
        definition=DEFINITION,
        baseline=replace(stored, sessions=(session,)),
        missing="",
        floors=[],
        tolerance=0.03,
        policy=ComparisonPolicy(),
        look=Look(5, 5),
        hypotheses=3,
    )


def test_noise_that_hits_both_arms_of_a_round_does_not_hide_a_loss_of_scaling() -> None:
    now = with_common_noise(one=5700, four=18000)
    assert by_label(now) == {"T(1)": "inconclusive", "T(4)": "inconclusive", "E(4)": "regressed"}
    assert what_moved(now) == (
        "What moved: E(4). Scaling got worse; which of T(1) and T(4) moved is lost in the noise."
    )


def test_nor_does_it_hide_that_one_replica_alone_got_slower() -> None:
    now = with_common_noise(one=5000, four=20500)
    assert by_label(now) == {"T(1)": "regressed", "T(4)": "inconclusive", "E(4)": "improved"}
    assert now.verdict is Verdict.REGRESSED
    assert now.reasons[0].startswith("T(1) fell and E(4) rose with it, beyond the noise of a round")
    assert what_moved(now) == (
        "What moved: T(1). One replica alone got slower while T(4) may not have; E(4) rose, so efficiency alone would "
        "have hidden it."
    )


def test_that_all_got_faster_but_one_replica_less_is_no_loss() -> None:
    now = with_common_noise(one=5700, four=24000)
    assert by_label(now) == {"T(1)": "inconclusive", "T(4)": "inconclusive", "E(4)": "improved"}
    assert now.verdict is Verdict.INCONCLUSIVE


def test_an_efficiency_that_is_open_where_t1_and_tn_are_decided_decides_nothing() -> None:
    """Noise of the two arms that goes opposite ways: twice as large in E(4)."""
    opposite = (0.98, 0.99, 1.0, 1.01, 1.02)
    verdict = judged(noise=opposite, stored=baseline(noise=opposite))
    assert by_label(verdict) == {"T(1)": "unchanged", "T(4)": "unchanged", "E(4)": "inconclusive"}
    assert verdict.verdict is Verdict.UNCHANGED
    assert verdict.reasons == ()
    assert [metric.excused for metric in verdict.metrics] == [False, False, True, True]


def test_sessions_that_differ_make_uncertain_what_a_day_could_do_and_no_more() -> None:
    """2 % between sessions would hide 10 % of both arms; not of T(4) alone, as E(4) shows that it is its own."""
    assert judged(one=5130, four=18450, sessions=(0.98, 1.0, 1.02)).verdict is Verdict.INCONCLUSIVE
    apart = judged(four=18000, sessions=(0.98, 1.0, 1.02))
    assert by_label(judged(four=18000, sessions=(1.0, 1.0, 1.0)))["T(4)"] == "regressed"
    assert by_label(apart) == {
        "T(1)": "inconclusive", "T(4)": "regressed", "E(4)": "regressed",
    }  # fmt: skip
    assert any("3 saved sessions differ too much among themselves" in reason for reason in apart.reasons)


def test_no_day_explains_any_loss_whatever() -> None:
    """3 % between three sessions: Student's t would let a day do 60 %."""
    assert judged(one=5700 * 0.8, four=20500 * 0.8, sessions=(0.97, 1.0, 1.03)).verdict is Verdict.REGRESSED


RUNS = (1.012, 0.991, 1.004, 0.988, 1.006)
"""Noise of 1 %."""
ALIKE, APART = (1.004, 0.998, 1.0), (1.01, 0.99, 1.0)
"""Three sessions, as much apart as their runs make them; and by days that differ."""


def test_what_both_lost_is_found_against_few_sessions_that_are_alike() -> None:
    slower = judged(one=5700 / 1.05, four=20500 / 1.05, noise=RUNS, sessions=ALIKE)
    assert by_label(slower) == {
        "T(1)": "regressed", "T(4)": "regressed", "E(4)": "unchanged", "T(1) x T(4)": "regressed",
    }  # fmt: skip
    assert slower.reasons == ("T(1) and T(4) taken together lost 4.8 %, more than noise and days explain",)
    assert "All got slower alike and E(4) held" in what_moved(slower)


def test_a_slower_day_of_a_machine_whose_days_differ_is_no_regression() -> None:
    day = judged(one=5700 / 1.05, four=20500 / 1.05, noise=RUNS, sessions=APART)
    assert day.verdict is Verdict.INCONCLUSIVE
    assert day.metrics[-1].comparison.metric == "common"
    assert day.metrics[-1].verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("one", "four", "label"), [(5700 / 1.05, 20500, "T(1)"), (5700, 20500 / 1.05, "T(4)")])
def test_a_loss_of_one_alone_needs_no_other(one: float, four: float, label: str) -> None:
    slower = judged(one=one, four=four, noise=RUNS, sessions=ALIKE)
    assert [name for name, found in by_label(slower).items() if name[0] == "T" and found == "regressed"] == [label]
    common = slower.metrics[-1]
    assert common.comparison.metric == "common"
    assert common.excused


@pytest.mark.parametrize("sessions", [(1.0,), (1.0005, 0.9995)])  # two that agree within the noise of their runs
def test_days_that_too_few_sessions_show_are_taken_to_do_four_percent(sessions: Sequence[float]) -> None:
    within = judged(one=5700 * 0.965, four=20500 * 0.965, sessions=sessions)
    assert within.verdict is Verdict.INCONCLUSIVE
    assert judged(one=5700 * 0.955, four=20500 * 0.955, sessions=sessions).verdict is Verdict.REGRESSED
    # What E(4) shows is no day's.
    alone = judged(four=20500 * 0.965, sessions=sessions)
    assert by_label(alone)["T(4)"] == "regressed"
    for metric in within.metrics:
        change = metric.comparison.change
        assert (log(change.high / change.low) / 2 >= UNKNOWN_DAYS * 0.999) == (metric.comparison.metric != "efficiency")
    three = judged(one=5700 * 0.965, four=20500 * 0.965, sessions=(1.0, 1.0, 1.0))
    assert three.verdict is Verdict.REGRESSED


def test_quiet_identical_code_is_settled_after_two_rounds() -> None:
    verdict = judged(noise=NOISE[:2], planned=5)
    assert verdict.verdict is Verdict.UNCHANGED
    assert verdict.settled


def test_two_rounds_of_five_raise_no_alarm_and_three_may() -> None:
    early = judged(four=15000, noise=NOISE[:2], planned=5)
    assert early.verdict is Verdict.INCONCLUSIVE
    assert not early.settled
    late = judged(four=15000, noise=NOISE[:3], planned=5)
    assert late.verdict is Verdict.REGRESSED
    assert late.settled


def test_hopeless_noise_is_given_up_and_what_may_be_decided_is_not() -> None:
    hopeless, hopeful = (0.7, 1.3, 1.0), (0.98, 1.02, 1.0)
    assert judged(noise=hopeless, planned=5, stored=baseline(noise=hopeless)).settled
    assert not judged(noise=hopeful, planned=5, stored=baseline(noise=hopeful)).settled
    assert judged(noise=hopeful, stored=baseline(noise=hopeful)).settled


LOUD = (0.98, 1.02, 1.0, 0.985, 1.015)
"""Five rounds whose noise a loss of a few percent does not stand out of."""


def test_a_loss_that_looks_sure_but_is_not_yet_asks_for_more_rounds() -> None:
    verdict = judged(one=5700 * 0.7, noise=LOUD[:2], planned=5, stored=baseline(noise=LOUD))
    assert by_label(verdict)["T(1)"] == "inconclusive"
    assert verdict.reasons[0].endswith(
        "; it looks 30.0 % lower, and more rounds would show whether it is, or a baseline of more rounds"
    )
    beside = judge_metric(replace(verdict.metrics[0].comparison, sessions=0), 0.03)
    assert beside.reason.endswith("more rounds would show whether it is"), "another revision is no baseline"


@pytest.mark.parametrize(("loss", "said"), [(0.06, 9), (0.07, 6), (0.08, 5)])
def test_about_the_rounds_that_are_said_to_decide_raise_the_alarm(loss: float, said: int) -> None:
    def after(rounds: int, planned: int) -> ArmVerdict:
        return judged(one=5700 * (1 - loss), noise=(4 * LOUD)[:rounds], planned=planned, stored=baseline(noise=LOUD))

    first = after(3, 5)
    looks = f"; it looks {100 * loss:.1f} % lower, and about {said} rounds would decide"
    assert first.reasons[0].endswith(looks), first.reasons
    assert after(2 * said, 2 * said).verdict is Verdict.REGRESSED
    assert after(said // 2, said // 2).verdict is Verdict.INCONCLUSIVE


def test_what_both_lost_is_decided_by_what_they_have_in_common() -> None:
    """E(4) shows neither, so neither raises an alarm by itself, with however many rounds."""

    def after(rounds: int, planned: int) -> ArmVerdict:
        noise, stored = LOUD[:rounds], baseline(noise=LOUD)
        return judged(one=5700 * 0.95, four=20500 * 0.95, noise=noise, planned=planned, stored=stored)

    told = {metric.comparison.label: metric.comparison for metric in after(3, 5).metrics}
    assert [told[label].is_own for label in ("T(1)", "T(4)")] == [False, False]
    assert told["T(1)"].rounds_needed == told["T(4)"].rounds_needed == told["T(1) x T(4)"].rounds_needed == 4
    assert [after(rounds, rounds).verdict for rounds in (3, 4)] == [Verdict.INCONCLUSIVE, Verdict.REGRESSED]


def test_a_loss_that_noise_and_days_hide_is_not_promised_to_show() -> None:
    """The MLP of report 002 on another host: five rounds were said to decide, and given up after two of five."""
    stored = baseline(one=183000, four=180500, noise=(1.05, 1.06, 0.9))
    verdict = judged(one=163500, four=151600, noise=(1.06, 0.94), planned=5, tolerance=0.15, stored=stored)
    (reason,) = (text for text in verdict.reasons if text.startswith("T(4): "))
    assert reason.endswith(
        "; it looks 16.2 % lower, and no number of rounds tells it from what another day may do: save on other days"
    )
    assert (verdict.verdict, verdict.settled) == (Verdict.INCONCLUSIVE, True)


def test_a_loss_that_another_day_explains_asks_for_other_days() -> None:
    verdict = judged(one=5700 * 0.965, noise=LOUD, stored=baseline(noise=LOUD))
    assert by_label(verdict)["T(1)"] == "inconclusive"
    assert verdict.reasons[0].endswith(
        "; it looks 3.5 % lower, and no number of rounds tells it from what another day may do: save on other days"
    )


def test_a_loss_that_looks_no_larger_than_the_tolerance_is_not_said_to_be_one() -> None:
    noise = (0.985, 1.015, 1.0, 0.98875, 1.01125)
    verdict = judged(one=5700 * 0.985, four=20500 * 0.985, noise=noise, stored=baseline(noise=noise))
    assert verdict.reasons[0] == (
        "T(1): a loss of up to 3.4 % cannot be ruled out at this noise (tolerance 3.0 %); about 11 rounds would decide"
    )


def test_disturbed_runs_decide_nothing() -> None:
    verdict = judged(four=10000, floor=0.95, disturbed=["T(4), round 2: too hot"])
    assert verdict.verdict is Verdict.INCONCLUSIVE
    assert set(by_label(verdict).values()) == {"inconclusive"}
    assert verdict.floors[0].verdict is Verdict.INCONCLUSIVE
    assert verdict.reasons == ("nothing is decided, as runs that count were disturbed",)
    assert what_moved(verdict) == ""
    assert verdict.metrics[1].comparison.change.value == pytest.approx(10000 / 20500)


def test_disturbed_runs_without_a_baseline_have_none() -> None:
    verdict = judged(missing="none here", disturbed=["T(4), round 2: too hot"])
    assert verdict.verdict is Verdict.NO_BASELINE
    assert verdict.reasons[1:] == ("none here",)


@pytest.mark.parametrize(
    ("replicas", "floors", "own_reference", "count"),
    [((1, 2, 4), 0, True, 9), ((2, 4), 2, False, 10), ((1,), 0, True, 1), ((1,), 0, False, 4), ((1, 2), 1, False, 9)],
)
def test_what_a_sweep_has_judged(replicas: tuple[int, ...], floors: int, own_reference: bool, count: int) -> None:
    assert hypotheses_of(replicas, floors, own_reference=own_reference) == count


def test_what_noise_hides_of_the_reference_is_not_called_unchanged() -> None:
    wild = (0.9, 1.1, 1.0, 0.93, 1.08)
    now = judged(four=8000, noise=wild, stored=baseline(noise=wild))
    assert by_label(now) == {"T(1)": "inconclusive", "T(4)": "regressed", "E(4)": "regressed"}
    assert what_moved(now).endswith("Whether one replica alone got slower too is lost in the noise.")


def test_noise_that_could_hide_a_loss_is_never_a_pass_in_disguise() -> None:
    wild = (0.9, 1.1, 1.0, 0.93, 1.08)
    assert judged(noise=wild, stored=baseline(noise=wild)).verdict is Verdict.INCONCLUSIVE


def test_one_run_decides_nothing() -> None:
    verdict = judged(four=10000, noise=(1.0,))
    assert verdict.verdict is Verdict.INCONCLUSIVE
    assert "one run says nothing of its noise" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("floor", "expected"), [(0.95, Verdict.REGRESSED), (0.85, Verdict.UNCHANGED), (0.899, Verdict.INCONCLUSIVE)]
)
def test_floor_is_judged_with_certainty(floor: float, expected: Verdict) -> None:
    verdict = judged(floor=floor)
    (judged_floor,) = verdict.floors
    assert judged_floor.verdict is expected
    assert verdict.under_floor == (expected is Verdict.REGRESSED)
    assert verdict.verdict is expected
    assert any("more rounds would" in reason for reason in verdict.reasons) == (expected is Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("missing", ["", "no baseline here"])
@pytest.mark.parametrize("floor", [0.94, 1.5])
def test_a_floor_that_seems_missed_is_open_at_a_look_that_may_raise_no_alarm(floor: float, missing: str) -> None:
    """As the first may: were it settled there, nothing would ever fail that only the floor fails."""
    first = judged(floor=floor, missing=missing, noise=NOISE[:2], planned=5)
    assert (first.floors[0].verdict, first.floors[0].open, first.settled) == (Verdict.INCONCLUSIVE, True, False)
    assert judged(floor=floor, missing=missing).under_floor
    # An interval below the floor is not called one that says nothing.
    (reason,) = (each for each in first.reasons if "floor" in each)
    under = first.floors[0].now.high < floor
    assert ("looks to be under its floor" in reason, "does not say whether" in reason) == (under, not under)


def test_a_loss_that_is_all_but_sure_is_measured_to_the_end() -> None:
    """A real one, against another revision: given up after two of four rounds, it passed."""

    def paired(one: tuple[float, ...], two: tuple[float, ...]) -> PairedRuns:
        return PairedRuns(one, tuple(128 / each for each in one), two, tuple(256 / each for each in two))

    def judged_after(here: PairedRuns, there: PairedRuns) -> ArmVerdict:
        stored = baseline()
        session = replace(
            stored.latest,
            reference_throughput=there.reference,
            reference_step_time=there.reference_step_time,
            throughput=there.throughput,
            step_time=there.step_time,
        )
        return judge_arm(
            FOUR,
            here,
            definition=DEFINITION,
            baseline=replace(stored, sessions=(session,)),
            missing="",
            against=there,
            floors=[],
            tolerance=0.25,
            policy=ComparisonPolicy(),
            look=Look(2, 4),
            hypotheses=4,
        )

    found = judged_after(paired((87274, 83049), (18435, 18601)), paired((93787, 95221), (41001, 49856)))
    assert (found.verdict, found.settled) == (Verdict.INCONCLUSIVE, False)
    assert any("; it looks 59.0 % lower, and about 5 rounds would decide" in reason for reason in found.reasons)
    # One that noise alone may be is not worth the rounds.
    loud = judged_after(paired((87274, 83049), (18435, 38601)), paired((93787, 95221), (41001, 49856)))
    assert (loud.verdict, loud.settled) == (Verdict.INCONCLUSIVE, True)


@pytest.mark.parametrize(("floor", "expected"), [(2.5, Verdict.REGRESSED), (1.9, Verdict.UNCHANGED)])
def test_speedup_over_another_strategy_has_a_floor_too(floor: float, expected: Verdict) -> None:
    verdict = judged(versus=10000, speedup_floor=floor)
    assert verdict.verdict is expected
    assert verdict.figures.speedup is not None
    assert verdict.figures.speedup.value == pytest.approx(2.05)
    assert any("S(4) 2.050 is under its floor 2.500" in reason for reason in verdict.reasons) == (floor == 2.5)


def test_a_missed_floor_fails_without_a_baseline_and_says_both() -> None:
    verdict = judged(floor=0.95, missing="no baseline here")
    assert verdict.verdict is Verdict.REGRESSED
    assert verdict.reasons == ("E(4) 0.899 is under its floor 0.950 (set in the test)", "no baseline here")


def test_no_baseline_is_said() -> None:
    verdict = judged(missing="no baseline here")
    assert verdict.verdict is Verdict.NO_BASELINE
    assert verdict.reasons == ("no baseline here",)


def test_another_definition_is_incomparable_and_names_what_differs() -> None:
    other = baseline()
    other = replace(other, definition={**DEFINITION, "workload.batch_size": 128})
    verdict = judged(stored=other)
    assert verdict.verdict is Verdict.INCOMPARABLE
    assert verdict.reasons == ("the baseline measured something else: workload.batch_size was 128, is 256",)


@given(st.floats(min_value=0.01, max_value=100), st.floats(min_value=1e-3, max_value=1e6))
def test_direction_is_right_at_every_size_and_scale(factor: float, scale: float) -> None:
    stored = baseline(one=5700 * scale, four=20500 * scale)
    verdict = judged(one=5700 * scale, four=20500 * scale * factor, stored=stored)
    expected = "regressed" if factor < 0.965 else "improved" if factor > 1.035 else None
    if expected:
        assert by_label(verdict)["T(4)"] == expected
