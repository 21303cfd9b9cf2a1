"""How long a session says that it will take, from canned durations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.durations import Stored, settings_of, sound, stored_of, updated
from pytest_tfperf.forecast import Duration, forecast
from pytest_tfperf.records.arm import Arm, Recipe, Scalar, Sweep, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from tests.unit.canned import baseline
from tests.unit.fakes import FakeClock

CONFIG = PerfConfig(root=Path(), baselines=Path())
SPEC = SweepSpec("t.py::t", "mlp", Recipe("multi_worker_mirrored"), Recipe("single"), (2, 4), "cpu")
SWEEP = Sweep(SPEC, (2, 4))
NOTHING = Stored(None, 0.03)


def unknown(spec: SweepSpec, replicas: int) -> Stored:
    return NOTHING


def result(seconds: dict[str, list[float]], config: PerfConfig = CONFIG) -> SweepResult:
    def measured(arm: Arm) -> ArmResult:
        runs = (Run(arm, n, 1.0, 1.0, (), seconds=each) for n, each in enumerate(seconds[arm.label], start=1))
        return ArmResult(arm, tuple(runs))

    return SweepResult(SWEEP, {arm: measured(arm) for arm in SWEEP.arms}, Environment({}, {}), 3, 0.0)


SECONDS = {"T(1)": [30.0, 5.0, 5.0], "T(2)": [20.0, 6.0], "T(4)": [40.0, 8.0, 8.0]}
"""T(2) was decided after two rounds."""


def after(seconds: dict[str, list[float]], took: float, config: PerfConfig = CONFIG) -> dict[str, Any]:
    history = updated({}, {SPEC.test: result(seconds)}, config, took)
    return dict(json.loads(json.dumps(history)))  # as pytest's cache gives it back


def test_the_same_again_takes_as_long() -> None:
    total = sum(map(sum, SECONDS.values()))
    told = forecast([SWEEP], CONFIG, after(SECONDS, total + 9.0), unknown)
    assert told.expected == pytest.approx(total + 9.0)
    # All five rounds: two more of T(1) and T(4), three more of T(2).
    assert told.most == pytest.approx(total + 9.0 + 2 * 5.0 + 3 * 6.0 + 2 * 8.0)
    assert (told.sweeps, told.unknown) == (1, 0)
    assert str(told) == "1 sweep, about 2 min 10 s (at most 2 min 55 s)"


def test_saving_has_twice_the_rounds_of_what_they_took() -> None:
    told = forecast([SWEEP], replace(CONFIG, save=True), after(SECONDS, 0.0), unknown)
    assert told.expected == told.most == pytest.approx(30 + 9 * 5 + 20 + 9 * 6 + 40 + 9 * 8)


def test_what_one_kind_of_session_took_besides_its_runs_is_taken_for_another() -> None:
    total = sum(map(sum, SECONDS.values()))
    saving = replace(CONFIG, save=True)
    history = after(SECONDS, total + 3.0, saving)
    assert forecast([SWEEP], CONFIG, history, unknown).most == pytest.approx(3.0 + 30 + 4 * 5 + 20 + 4 * 6 + 40 + 4 * 8)
    # But where another revision has a pytest of its own beside, and the other way round.
    against = replace(CONFIG, against="main")
    assert forecast([SWEEP], against, history, unknown).expected == pytest.approx(
        8.0 + 2 * (30 + 4 * 5 + 20 + 4 * 6 + 40 + 4 * 8)
    )
    # Its own counts first.
    history = updated(history, {SPEC.test: result(SECONDS)}, CONFIG, total + 1.0)
    assert forecast([SWEEP], CONFIG, history, unknown).expected == pytest.approx(total + 1.0)


def test_another_revision_beside_takes_twice_the_runs() -> None:
    here, both = (
        forecast([SWEEP], replace(CONFIG, against=against), after(SECONDS, 0.0), unknown).most
        for against in ("", "main")
    )
    assert both - 8.0 == pytest.approx(2 * here)  # `here` begins at nothing besides runs, as it was seen to take none


def test_max_time_caps_it_but_not_below_the_fewest_rounds() -> None:
    history = after(SECONDS, 0.0)
    assert forecast([SWEEP], replace(CONFIG, max_time=110.0), history, unknown).most == 110.0
    fewest = 30 + 5 + 20 + 6 + 40 + 8
    assert forecast([SWEEP], replace(CONFIG, max_time=1.0), history, unknown).expected == pytest.approx(fewest)


def test_without_a_history_the_baseline_says_what_a_run_took_and_how_many_are_needed() -> None:
    entry = baseline()
    latest = replace(entry.latest, run_seconds=(7.0, 11.0))
    stored = Stored(replace(entry, sessions=(latest,)), tolerance=0.03)
    sweep = Sweep(replace(SPEC, replicas=(4,)), (4,))
    told = forecast([sweep], CONFIG, {}, lambda spec, replicas: stored)
    rounds = (told.expected - 8.0) / (7.0 + 11.0)
    assert rounds == 2  # runs that vary by 0.2 % settle at the first look
    assert told.most == pytest.approx(8.0 + 5 * 18.0)
    assert told.unknown == 0
    # Noise of 5 % at a tolerance of 3 %: every planned round.
    noisy = baseline(noise=(1.05, 0.95, 1.06, 0.94, 1.0))
    stored = Stored(replace(noisy, sessions=(replace(noisy.latest, run_seconds=(7.0, 11.0)),)), tolerance=0.03)
    told = forecast([sweep], CONFIG, {}, lambda spec, replicas: stored)
    assert told.expected == told.most


def test_a_baseline_that_tells_the_first_run_apart_has_it_counted_once() -> None:
    """A gate of two rounds would else be expected to compile for half as long as it does after saving in five."""
    entry = baseline()
    latest = replace(entry.latest, run_seconds=(7.0, 11.0), first_run_seconds=(50.0, 30.0))
    stored = Stored(replace(entry, sessions=(latest,)), tolerance=0.03)
    told = forecast([Sweep(replace(SPEC, replicas=(4,)), (4,))], CONFIG, {}, lambda spec, replicas: stored)
    assert told.expected == pytest.approx(8.0 + 50 + 30 + (7 + 11))
    assert told.most == pytest.approx(8.0 + 50 + 30 + 4 * (7 + 11))


def test_programs_that_xla_has_kept_are_not_compiled_again() -> None:
    """A session that filled the user's folder tells the next one how long its own compiling took."""
    kept = replace(CONFIG, kept_programs=True)
    history = after(SECONDS, sum(map(sum, SECONDS.values())))
    assert forecast([SWEEP], kept, history, unknown).expected == forecast([SWEEP], CONFIG, history, unknown).expected
    spec = replace(SPEC, recipe=Recipe("multi_worker_mirrored", {}, {"xla": True}))  # T(1) is of another workload
    compiled = replace(SWEEP, spec=spec)
    history = {**history, SPEC.test: {**history[SPEC.test], "of": settings_of(spec)}}
    without = forecast([compiled], CONFIG, history, unknown).expected
    assert without - forecast([compiled], kept, history, unknown).expected == (20 - 6) + (40 - 8)


def test_what_nothing_is_known_of_is_guessed_and_said() -> None:
    told = forecast([SWEEP], CONFIG, {}, unknown)
    assert told.unknown == 1
    assert "a rough guess" in str(told)
    # Compiling takes its time, and more so where every run does it.
    compiled = Sweep(replace(SPEC, recipe=Recipe("multi_worker_mirrored", {}, {"xla": True})), (2, 4))
    cached = forecast([compiled], CONFIG, {}, unknown).expected
    assert told.expected < cached < forecast([compiled], replace(CONFIG, compile_cache=False), {}, unknown).expected


def test_a_baseline_with_windows_of_another_length_is_converted() -> None:
    """Step time is 45 ms of T(1) and 50 ms of T(4); six windows' worth of steps, the warm-up's included."""
    entry = baseline()
    latest = replace(entry.latest, run_seconds=(7.0, 11.0), window_seconds=0.2)
    stored = Stored(replace(entry, sessions=(latest,)), tolerance=0.03)
    sweep = Sweep(replace(SPEC, replicas=(4,)), (4,))
    reference, own = latest.reference_step_time[-1], latest.step_time[-1]
    told = forecast([sweep], CONFIG, {}, lambda spec, replicas: stored)
    longer = 6 * (9 - 4) * reference + 6 * (8 - 4) * own
    assert told.most == pytest.approx(8.0 + 5 * (7.0 + 11.0 + longer))
    # As long as a step: a window that is shorter still holds one.
    short = replace(CONFIG, measurement=replace(CONFIG.measurement, window_seconds=0.001))
    told = forecast([sweep], short, {}, lambda spec, replicas: stored)
    assert told.most == pytest.approx(8.0 + 5 * (7.0 + 11.0 - 6 * 3 * reference - 6 * 3 * own))


def alike(replicas: int, seconds: tuple[float, float]) -> BaselineEntry:
    entry = replace(baseline(), replicas=replicas)
    return replace(entry, sessions=(replace(entry.latest, run_seconds=seconds),))


def test_what_is_alike_says_what_a_run_takes_but_not_how_many_are_needed() -> None:
    others = tuple(alike(4, seconds) for seconds in ((6.0, 9.0), (7.0, 11.0), (20.0, 30.0)))
    sweep = Sweep(replace(SPEC, replicas=(4,)), (4,))
    told = forecast([sweep], CONFIG, {}, lambda spec, replicas: Stored(None, 0.03, others))
    assert told.expected == told.most == pytest.approx(8.0 + 5 * 18.0)
    assert told.unknown == 0


def on(processor: str, replicas: int, batch_size: int = 256) -> BaselineEntry:
    hard: dict[str, str | int] = {"cpu_model": processor, "cpu_cores": 2, "hosts": 1}
    return replace(baseline(), hard=hard, replicas=replicas, definition={"workload.batch_size": batch_size})


HERE = on("ours", 4)
ASKED: dict[str, Scalar] = {"workload": HERE.workload, "strategy": HERE.strategy, **HERE.definition}


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    """The same arm at 2 and 8 replicas on another processor, at 4 with another batch, and a file nobody can read."""
    store = BaselineStore(tmp_path)
    store.save([on("another", 2), on("another", 8)])
    store.save([on("ours", 4, batch_size=7)])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / f"{HERE.name}.yaml").write_text("no: baseline")
    return store


def kin(strategy: str, seconds: tuple[float, float], reference: str = "single") -> BaselineEntry:
    entry = replace(alike(4, seconds), strategy=strategy)
    return replace(entry, definition={**entry.definition, "reference": reference})


def test_where_nothing_is_alike_the_workload_under_another_strategy_is_a_guess() -> None:
    near, own = kin("tower", (5.0, 9.0)), kin("multi_worker_mirrored", (6.0, 11.0))
    sweep = Sweep(replace(SPEC, replicas=(4,)), (4,))

    def told(*others: BaselineEntry) -> Any:
        groups = tuple((other,) for other in others)
        return forecast([sweep], CONFIG, {}, lambda spec, replicas: Stored(None, 0.03, kin=groups))

    # T(1) is that of the nearest, T(4) that of the nearest of its own strategy.
    assert told(near, own).expected == pytest.approx(8.0 + 5 * (5.0 + 11.0))
    assert told(near).expected == pytest.approx(8.0 + 5 * (5.0 + 9.0))
    assert told(near).unknown == 1
    # What it is held against is as long as another arm of its own strategy, too.
    with_versus = Sweep(replace(SPEC, replicas=(4,), versus=Recipe("tower")), (4,))
    beside = forecast([with_versus], CONFIG, {}, lambda spec, replicas: Stored(None, 0.03, kin=((own,), (near,))))
    assert beside.expected == pytest.approx(8.0 + 5 * (6.0 + 11.0 + 9.0))
    # Another reference is no T(1): that is guessed.
    other = told(kin("tower", (5.0, 9.0), reference="tower")).expected
    assert other == pytest.approx(8.0 + 5 * 9.0 + (forecast([sweep], CONFIG, {}, unknown).expected - 8.0) / 2, rel=0.1)


def test_of_kin_that_are_as_near_the_median_is_taken() -> None:
    """One that was saved on a bad day is not what a new test is expected to be like."""

    def told(*group: BaselineEntry) -> float:
        sweep = Sweep(replace(SPEC, replicas=(4,)), (4,))
        farther = (kin("tower", (100.0, 100.0)),)
        return forecast([sweep], CONFIG, {}, lambda spec, replicas: Stored(None, 0.03, kin=(group, farther))).expected

    slow, quick, usual = (kin("tower", seconds) for seconds in ((30.0, 90.0), (4.0, 8.0), (5.0, 9.0)))
    assert told(slow, quick, usual) == told(usual) == pytest.approx(8.0 + 5 * (5.0 + 9.0))


def test_kin_are_of_this_kind_of_device_and_nearly_these_parameters(tmp_path: Path) -> None:
    store = BaselineStore(tmp_path)
    asked: dict[str, Scalar] = {
        "workload": HERE.workload, "strategy": "mirrored", "device": "cpu", "reference": "single"
    }  # fmt: skip
    params: dict[str, Scalar] = {"workload.batch_size": 8, "workload.hidden": 64}

    def saved(strategy: str, processor: str, replicas: int, **changes: Scalar) -> None:
        entry = on(processor, replicas)
        definition: dict[str, Scalar] = {"device": "cpu", "reference": "single", **params}
        definition |= {key.replace("__", "."): value for key, value in changes.items()}
        store.save([replace(entry, strategy=strategy, variant=None, definition=definition)])

    saved("tower", "another", 4)
    saved("tower", "ours", 4, workload__hidden=128)
    saved("ps_async", "ours", 8)
    saved("mirrored", "ours", 8, strategy__collective="compiled")
    saved("ps_async", "ours", 64)
    saved("ps_sync", "ours", 2, device="gpu")
    saved("independent", "ours", 4, workload__hidden=128, workload__batch_size=9)
    here = on("ours", 4).environment
    name = f"{HERE.workload}-mirrored"
    known = stored_of(store, here, name, 4, {**asked, **params}, 0.03)
    found = [[(entry.strategy, entry.replicas, entry.hard["cpu_model"]) for entry in group] for group in known.kin]
    near = [[("mirrored", 8, "ours"), ("ps_async", 8, "ours")], [("ps_async", 64, "ours")]]
    assert found == [*near, [("tower", 4, "ours")], [("tower", 4, "another")]]
    assert (known.entry, known.alike) == (None, ())
    # What was saved meanwhile changes nothing: they are looked for once.
    saved("parameter_server", "ours", 4)
    assert stored_of(store, here, name, 4, {**asked, **params}, 0.03).kin == known.kin


@pytest.mark.parametrize(("asked", "found"), [(2, {2}), (3, {2}), (4, {2, 8}), (6, {8}), (16, {8})])
def test_the_nearest_count_of_any_environment_is_alike(store: BaselineStore, asked: int, found: set[int]) -> None:
    known = stored_of(store, HERE.environment, HERE.name, asked, {**ASKED, "cores_per_rank": 3}, 0.03)
    assert known.entry is None
    assert {entry.replicas for entry in known.alike} == found


def test_what_is_stored_here_for_the_count_is_enough(store: BaselineStore) -> None:
    there = on("third", 4)
    store.save([there])
    known = stored_of(store, there.environment, HERE.name, 4, ASKED, 0.03)
    assert known == Stored(store.find(there.environment, HERE.name, 4), 0.03)
    assert known.entry is not None


def test_what_is_alike_and_tells_no_time_leaves_it_to_kin(store: BaselineStore) -> None:
    store.save([replace(alike(4, (1.0, 2.0)), strategy="tower", hard=on("ours", 4).hard, definition=HERE.definition)])
    known = stored_of(store, HERE.environment, HERE.name, 2, ASKED, 0.03)
    assert [entry.latest.run_seconds for entry in known.alike] == [None]
    assert "tower" in {entry.strategy for group in known.kin for entry in group}
    # A name that cannot be one takes nothing from the others.
    (store.root / "broken" / f"{HERE.workload}-a#1.yaml").write_text("no: baseline")
    again = BaselineStore(store.root)
    assert again.of_workload(HERE.workload) == store.of_workload(HERE.workload) != []


def test_runs_with_windows_of_another_length_say_nothing() -> None:
    other = replace(CONFIG, measurement=replace(CONFIG.measurement, window_seconds=4.0))
    assert forecast([SWEEP], other, after(SECONDS, 0.0), unknown).unknown == 1


def test_what_a_test_took_before_its_settings_were_changed_says_nothing() -> None:
    history = after(SECONDS, 200.0)
    assert forecast([SWEEP], CONFIG, history, unknown).unknown == 0
    eight = Recipe("multi_worker_mirrored", {"steps_per_call": 8})
    line = replace(eight, link=Link.parse("1gbit"))
    assert settings_of(replace(SPEC, versus=eight)) != settings_of(replace(SPEC, versus=line))
    for changed in (replace(SPEC, recipe=eight), replace(SPEC, versus=eight), replace(SPEC, workload="alexnet")):
        assert forecast([Sweep(changed, (2, 4))], CONFIG, history, unknown).unknown == 1
        # What is written then is of the changed test alone.
        new = updated(history, {SPEC.test: replace(result(SECONDS), sweep=Sweep(changed, (2, 4)))}, CONFIG, 200.0)
        assert new[SPEC.test]["of"] != history[SPEC.test]["of"]
        assert len(new[SPEC.test]["rounds"]) == 1
    # Where a test stands, and how it is judged, is none of its settings.
    assert forecast([Sweep(replace(SPEC, tolerance={2: 0.1}), (2, 4))], CONFIG, history, unknown).unknown == 0


def test_other_tests_stay_in_the_history() -> None:
    history = updated(after(SECONDS, 0.0), {}, CONFIG, 3.0)
    assert forecast([SWEEP], CONFIG, history, unknown).expected == pytest.approx(3.0 + sum(map(sum, SECONDS.values())))


def test_what_was_expected_is_said_at_the_end() -> None:
    clock = FakeClock()
    duration = Duration(CONFIG, clock)
    assert str(duration) == ""
    assert duration.added_to({"a": 1}, {SPEC.test: result(SECONDS)}) == {"a": 1}
    assert duration.begin([SWEEP], after(SECONDS, 131.0), unknown).expected == pytest.approx(131.0)
    clock.sleep(142.0)
    assert str(duration) == "took 2 min 20 s, expected 2 min 10 s"
    assert duration.added_to({}, {}) == {}
    assert duration.added_to({}, {SPEC.test: result(SECONDS)}) == after(SECONDS, 142.0)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["", "t.py::t", "of", "runs", "rounds", "T(1)", "T(2)", "gate 20"]), inner, max_size=4
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_anything_may_stand_in_the_cache(found: object) -> None:
    history = sound(found)
    if SPEC.test in history:
        history[SPEC.test]["of"] = settings_of(SPEC)
    said = forecast([SWEEP], CONFIG, history, unknown)
    assert 0 < said.expected <= said.most < float("inf")
    assert sound(updated(history, {"t.py::t": result(SECONDS)}, CONFIG, 100.0))["t.py::t"]["runs"]


def test_what_was_written_is_sound() -> None:
    written = updated({}, {"t.py::t": result(SECONDS)}, CONFIG, 100.0)
    assert sound(json.loads(json.dumps(written))) == written
