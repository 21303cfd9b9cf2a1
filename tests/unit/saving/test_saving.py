"""Which stored sessions a new measurement makes outdated, and what is said of the noise of those that there are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_tfperf.baseline.merge import Outdated
from pytest_tfperf.baseline.store import SavedFile
from pytest_tfperf.comparison.tolerance import supported_tolerance
from pytest_tfperf.config import ComparisonPolicy, PerfConfig
from pytest_tfperf.records.arm import Arm, Recipe, Sweep, SweepSpec
from pytest_tfperf.records.baseline import Provenance
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.refusals import refused_anyway
from pytest_tfperf.saving import Saved, new_entry, outdated_by, seems_slower
from tests.unit.canned import baseline, judged


def test_the_same_speed_joins_what_is_stored() -> None:
    assert outdated_by(judged()) is None


def test_a_loss_within_the_tolerance_joins_too() -> None:
    assert outdated_by(judged(one=5700 * 0.985, four=20500 * 0.985)) is None


def test_without_a_baseline_there_is_nothing_to_replace() -> None:
    assert outdated_by(judged(missing="none here")) is None


def test_what_regressed_replaces_the_stored_sessions_and_says_by_how_much() -> None:
    stored = baseline(sessions=(1.001, 0.999, 1.0))
    assert outdated_by(judged(four=17425, stored=stored)) == Outdated(
        stored.sessions, "T(4) regressed by 15.0 %, E(4) regressed by 15.0 %"
    )


def test_what_improved_replaces_the_stored_sessions() -> None:
    outdated = outdated_by(judged(one=6270, four=22550))
    assert outdated is not None
    assert outdated.reason == "T(1) improved by 10.0 %, T(4) improved by 10.0 %"


def test_an_efficiency_that_fell_only_as_t1_got_faster_is_not_the_reason() -> None:
    outdated = outdated_by(judged(one=6270))
    assert outdated is not None
    assert outdated.reason == "T(1) improved by 10.0 %"


def test_a_session_that_looks_slower_than_those_it_joins_says_so() -> None:
    noisy = (1.08, 0.92, 1.0)
    verdict = judged(one=5700 * 0.9, noise=noisy, stored=baseline(noise=noisy))
    assert verdict.verdict is Verdict.INCONCLUSIVE
    assert outdated_by(verdict) is None
    assert seems_slower(verdict) == "T(1) is 10.0 % lower"
    told = Saved("t[4]", SavedFile(Path("a.yaml"), "2 sessions"), 0.03, 5, None, seems_slower=seems_slower(verdict))
    assert str(told) == (
        "t[4]: a.yaml (2 sessions); T(1) is 10.0 % lower than in its earlier sessions, which is not decided"
    )
    assert seems_slower(judged()) == ""
    assert outdated_by(judged(four=17425)) is not None
    both = replace(verdict, metrics=(*verdict.metrics, *judged(four=17425).metrics))
    assert seems_slower(both) == ""  # found slower in one figure: it replaces them


SPEC = SweepSpec("t.py::t", "mlp", Recipe("multi_worker_mirrored"), Recipe("single"), (2,), "cpu")


def measured(of_reference: Sequence[float], of_arm: Sequence[float]) -> SweepResult:
    """A sweep whose runs took so many seconds."""

    def of(arm: Arm, seconds: Sequence[float]) -> ArmResult:
        return ArmResult(arm, tuple(Run(arm, n, 100.0, 0.1, (), seconds=each) for n, each in enumerate(seconds, 1)))

    results = {SPEC.reference_arm: of(SPEC.reference_arm, of_reference), SPEC.arm(2): of(SPEC.arm(2), of_arm)}
    return SweepResult(Sweep(SPEC, (2,)), results, Environment({}, {}), len(of_arm), 0.0)


PROVENANCE = Provenance("2026-11-28T01:00:00Z", "a1b2c3d4", False, "t.py::t[2]")


def test_what_the_first_run_took_is_not_in_what_a_later_one_takes() -> None:
    session = new_entry(measured([57.0, 10.0, 12.0], [30.0, 16.0, 18.0]), 2, PROVENANCE).latest
    assert (session.first_run_seconds, session.run_seconds) == ((57.0, 30.0), (11.0, 17.0))


def test_what_runs_took_that_were_made_again_is_none_of_what_one_takes() -> None:
    made = measured([57.0, 30.0, 10.0], [30.0, 16.0, 18.0])
    arm = SPEC.reference_arm
    runs = made.results[arm].runs
    again = ArmResult(arm, (runs[0], replace(runs[1], attempts=3), runs[2]))
    session = new_entry(replace(made, results={**made.results, arm: again}), 2, PROVENANCE).latest
    assert session.run_seconds == (10.0, 17.0)


def test_what_a_run_took_is_left_out_where_it_is_not_known() -> None:
    session = new_entry(measured([0.0, 0.0], [30.0, 16.0]), 2, PROVENANCE).latest
    assert (session.first_run_seconds, session.run_seconds) == (None, None)


def test_what_saving_will_refuse_is_known_before_anything_is_measured() -> None:
    slowed = Sweep(replace(SPEC, slowdown={2: 0.5}), (2,))
    sweeps, config = [Sweep(SPEC, (2,)), slowed], PerfConfig(root=Path(), baselines=Path(), save=True)
    why = "its marker's slowdown makes steps longer on purpose (T(2) by 50 %)"
    assert refused_anyway(sweeps, config) == [f"t.py::t[2] will not be saved: {why}; take it away first"]
    assert refused_anyway(sweeps, replace(config, save=False)) == []
    forced = refused_anyway(sweeps, replace(config, force_save=True))
    assert forced == [f"t.py::t[2] will be saved by force, although {why}"]
    few = refused_anyway(sweeps[:1], replace(config, forced_rounds=2))
    assert few == ["t.py::t[2] will not be saved: 2 rounds do not show the noise; a baseline needs at least 3"]
    assert refused_anyway(sweeps[:1], replace(config, forced_rounds=3)) == []
    smoke = refused_anyway(sweeps, replace(config, smoke="benchmarks are off"))
    assert smoke == ["nothing will be saved, as nothing is measured in full (benchmarks are off)"]


def saved(noise: Sequence[float], sessions: Sequence[float] = (1.0,), asked: float = 0.03) -> Saved:
    entry = baseline(noise=noise, sessions=sessions)
    support = supported_tolerance(entry, asked=asked, rounds=5, policy=ComparisonPolicy(), own_reference=False)
    return Saved("t[4]", SavedFile(Path("a.yaml")), asked, 5, support)


def test_what_the_noise_supports_is_said() -> None:
    quiet = saved((1.001, 0.999, 1.0, 1.0005, 0.9995))
    assert not quiet.is_doubtful
    assert quiet.noise == (
        "measured noise (run to run 0.1 %) supports a tolerance of 0.5 % within 5 rounds; asked: 3.0 %"
    )


def test_a_tolerance_finer_than_the_noise_is_doubtful_and_the_rounds_are_named() -> None:
    loud = saved((1.01, 0.99, 1.0, 1.006, 0.994), sessions=(1.0,) * 5, asked=0.01)
    assert loud.is_doubtful
    assert re.fullmatch(
        r"measured noise \(run to run 0\.8 %, between 5 sessions 0\.0 %\) supports a tolerance of [0-9.]+ % within "
        r"5 rounds, not the 1\.0 % asked for, so gates will often be inconclusive; about \d+ rounds would do",
        loud.noise,
    )


def test_sessions_that_differ_too_much_are_named_as_the_reason() -> None:
    days = saved((1.001, 0.999, 1.0, 1.0005, 0.9995), sessions=(1.0, 1.05, 0.95))
    assert days.is_doubtful
    assert "between 3 sessions 5.0 %" in days.noise
    assert "no number of rounds would do, as the sessions differ too much among themselves: widen" in days.noise
    two = saved((1.001, 0.999, 1.0, 1.0005, 0.9995), sessions=(1.0, 1.05))
    assert "too much among themselves: save one more, as two say little of how they differ, or widen" in two.noise


def test_few_saved_runs_are_named_as_the_reason() -> None:
    assert "against so few saved runs: save more sessions" in saved((1.05, 0.95, 1.0, 1.03, 0.97)).noise


def test_noise_that_is_not_known_is_not_spoken_of() -> None:
    one = saved((1.0,))
    assert (one.noise, one.is_doubtful) == ("", False)
