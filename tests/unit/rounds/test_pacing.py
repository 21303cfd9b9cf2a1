"""How many rounds are planned, and how a session's time is shared."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.pacing import Pace, TimeBudget, gate_rounds, planned_rounds
from pytest_tfperf.records.arm import Recipe, SweepSpec
from pytest_tfperf.records.look import Look
from tests.unit.fakes import FakeClock

SPEC = SweepSpec("t.py::test_a", "mlp", Recipe("ps_async"), Recipe("single"), (2,), "cpu")
CONFIG = PerfConfig(root=Path(), baselines=Path())


@pytest.mark.parametrize(
    ("changes", "marker", "planned", "gate"),
    [
        ({}, None, 5, 5),
        ({}, 8, 8, 8),
        ({"rounds": 7}, None, 7, 7),
        ({"forced_rounds": 4}, 8, 4, 8),
        ({"save": True}, None, 10, 5),
        ({"save": True}, 3, 6, 3),
        ({"save": True, "forced_rounds": 4}, 8, 4, 8),
        ({"save": True, "smoke": "benchmarks are off", "forced_rounds": 4}, 8, 1, 8),
    ],
)
def test_planned_rounds(changes: dict[str, object], marker: int | None, planned: int, gate: int) -> None:
    config, spec = replace(CONFIG, **changes), replace(SPEC, rounds=marker)  # type: ignore[arg-type]
    assert planned_rounds(config, spec) == planned
    assert gate_rounds(config, spec) == gate


def test_waiting_for_another_session_costs_no_time() -> None:
    clock = FakeClock()
    budget = TimeBudget(replace(CONFIG, max_time=100.0), clock)
    clock.sleep(60.0)
    budget.put_off(50.0)
    assert budget.pace(SPEC, sweeps=1).seconds == pytest.approx(90.0)


def test_without_a_limit_there_is_all_the_time() -> None:
    assert TimeBudget(CONFIG, FakeClock()).pace(SPEC, sweeps=7) == Pace(5, fewest=2, seconds=inf)


def test_each_sweep_has_an_even_share_of_what_is_left() -> None:
    clock = FakeClock()
    budget = TimeBudget(replace(CONFIG, max_time=120.0), clock)
    clock.sleep(20)  # collecting, importing
    assert budget.pace(SPEC, sweeps=4).seconds == 25.0
    clock.sleep(10)  # decided early, so that there is more for the others
    assert budget.pace(SPEC, sweeps=3).seconds == 30.0
    clock.sleep(200)
    assert budget.pace(SPEC, sweeps=2).seconds == 0.0


def test_saving_measures_all_and_at_least_what_can_be_saved() -> None:
    pace = TimeBudget(replace(CONFIG, save=True, max_time=1.0), FakeClock()).pace(SPEC, sweeps=1)
    assert (pace.planned, pace.fewest, pace.stops_early) == (10, 3, False)
    assert [pace.may_go_on(done, elapsed=99.0, next_round=1.0) for done in (1, 2, 3)] == [True, True, False]


def test_a_suspect_is_tried_in_all_rounds() -> None:
    assert not TimeBudget(CONFIG, FakeClock()).pace(replace(SPEC, suspect="L2"), sweeps=1).stops_early


def test_looks() -> None:
    pace = Pace(10)
    assert [number for number in range(1, 11) if pace.look(number, more=number < 10)] == [2, 3, 4, 5, 7, 10]
    assert pace.look(6, more=False) == Look(6, 10, final=True)
    assert Pace(10, stops_early=False).look(5, more=True) is None
