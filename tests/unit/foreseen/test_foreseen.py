"""What a session will measure in vain is told before it measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.foreseen import in_vain
from pytest_tfperf.records.arm import Recipe, Sweep, SweepSpec
from pytest_tfperf.records.comparison import Verdict

CONFIG = PerfConfig(root=Path(), baselines=Path("baselines"))
SPEC = SweepSpec("t.py::test_a", "mlp", Recipe("multi_worker_mirrored"), Recipe("single"), (2, 4), "cpu")
A = Sweep(SPEC, (2, 4))
B = Sweep(replace(SPEC, test="t.py::test_b", rounds=1), (2,))
OTHERWISE = Verdict.INCOMPARABLE, "measured something else: workload.hidden was 8, is 16"
MISSING = Verdict.NO_BASELINE, "no baseline of mlp"

Known = Mapping[tuple[str, int], "tuple[Verdict, str] | None"]


def told(*sweeps: Sweep, config: PerfConfig = CONFIG, known: Known | None = None) -> list[str]:
    return in_vain(sweeps, config, lambda spec, replicas: (known or {}).get((spec.test, replicas)))


def test_nothing_is_told_where_all_can_be_judged() -> None:
    assert told(A) == []


def test_what_is_incomparable_is_told_with_the_reason() -> None:
    assert told(A, known={(SPEC.test, 4): OTHERWISE}) == [
        "t.py::test_a[4] cannot be compared: the baseline measured something else: workload.hidden was 8, is 16"
    ]


def test_many_that_are_incomparable_are_counted() -> None:
    sweeps = [Sweep(replace(SPEC, test=f"t.py::test_{number}"), (2,)) for number in range(5)]
    lines = told(*sweeps, known={(sweep.spec.test, 2): OTHERWISE for sweep in sweeps})
    assert len(lines) == 4
    assert lines[-1] == "nor can 2 other tests"


def test_counts_of_one_test_that_differ_alike_are_told_together() -> None:
    (line,) = told(A, known={(SPEC.test, 2): OTHERWISE, (SPEC.test, 4): OTHERWISE})
    assert line.startswith("t.py::test_a[2, 4] cannot be compared: the baseline measured something else")


def test_tests_without_a_baseline_are_counted_and_named() -> None:
    assert told(A, known={(SPEC.test, 2): MISSING}) == ["t.py::test_a[2]: no baseline of mlp"]
    both = {(SPEC.test, 2): MISSING, (SPEC.test, 4): MISSING}
    assert told(A, known=both) == [
        "2 of 2 tests have no baseline here: t.py::test_a[2], t.py::test_a[4]; --tfperf-save stores them"
    ]


@pytest.mark.parametrize("on", ["require_baseline", "strict"])
def test_what_fails_a_test_without_a_baseline_is_named(on: str) -> None:
    option = f"--tfperf-{on.replace('_', '-')}"
    config, missing = replace(CONFIG, **{on: True}), {(SPEC.test, 2): MISSING}  # type: ignore[arg-type]
    assert told(A, config=config, known=missing) == [f"t.py::test_a[2]: no baseline of mlp, and {option} fails it"]
    (line,) = told(A, config=config, known={**missing, (SPEC.test, 4): MISSING})
    assert line.startswith(f"2 of 2 tests have no baseline here, and {option} fails them: ")


def test_one_round_is_said_to_decide_nothing() -> None:
    says = "one run says nothing of its noise, so a gate needs at least 2"
    assert told(A, config=replace(CONFIG, forced_rounds=1)) == [f"one round decides nothing: {says}"]
    assert told(A, B) == [f"one round decides nothing in t.py::test_b: {says}"]
    assert told(A, config=replace(CONFIG, forced_rounds=2)) == []


def test_few_rounds_against_a_revision_are_said_to_show_hardly_any_loss() -> None:
    against = replace(CONFIG, against="main", forced_rounds=3)
    (line,) = told(A, config=against)
    assert line.startswith("fewer than 4 rounds show hardly any loss surely enough for an alarm: against a revision ")
    assert told(A, config=replace(against, forced_rounds=4)) == []


def test_a_broken_baseline_is_left_to_its_test() -> None:
    def broken(spec: SweepSpec, replicas: int) -> None:
        raise BaselineError("a.yaml: line 3")

    assert in_vain([A], CONFIG, broken) == []


def test_a_session_that_saves_asks_for_no_baseline_and_a_smoke_run_for_no_verdict() -> None:
    known = {(SPEC.test, 2): MISSING}
    assert told(A, config=replace(CONFIG, save=True), known=known) == []
    assert told(A, config=replace(CONFIG, smoke="benchmarks are off"), known=known) == []
