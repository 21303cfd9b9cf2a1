"""What fails a test, with and without --tfperf-strict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.outcome import fails, left_open
from pytest_tfperf.records.comparison import ArmVerdict
from tests.unit.canned import judged

PLAIN = PerfConfig(root=Path(), baselines=Path())
STRICT = replace(PLAIN, strict=True)
LOUD = (1.3, 0.7, 1.1, 0.9, 1.0)
OPEN = {
    "inconclusive": judged(noise=LOUD),
    "no_baseline": judged(missing="none here"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_decided_fails_only_where_strict(name: str) -> None:
    assert str(OPEN[name].verdict) == name
    assert not fails(OPEN[name], PLAIN)
    assert fails(OPEN[name], STRICT)
    assert left_open(OPEN[name], PLAIN) == left_open(OPEN[name], STRICT) == name


def test_what_is_decided_is_as_ever() -> None:
    for config in (PLAIN, STRICT):
        assert not fails(judged(), config)
        assert fails(judged(four=15000), config)
        assert left_open(judged(), config) == ""
        assert left_open(judged(four=15000), config) == "", "it fails anyway, so strictness is not why"


def test_the_first_baseline_is_not_refused_for_want_of_one() -> None:
    saving = replace(STRICT, save=True, require_baseline=True)
    assert not fails(OPEN["no_baseline"], saving)
    assert not fails(OPEN["inconclusive"], saving)
    assert fails(judged(floor=0.95, missing="none here"), saving), "a floor is missed"
    assert fails(OPEN["no_baseline"], replace(saving, save=False))


def test_a_floor_counts_when_saving_too() -> None:
    saving = replace(STRICT, save=True)
    unsure: ArmVerdict = judged(floor=0.899, missing="none here")
    assert str(unsure.verdict) == "inconclusive"
    assert fails(unsure, saving)
    assert left_open(unsure, saving) == "floor not surely met"
    assert not fails(unsure, replace(PLAIN, save=True))
    assert not fails(judged(floor=0.5, missing="none here"), saving)


def test_a_smoke_run_is_asked_nothing() -> None:
    smoke = judged(smoke="benchmarks are off")
    assert not fails(smoke, replace(STRICT, require_baseline=True, smoke="benchmarks are off"))


def test_a_test_that_the_other_revision_does_not_have_hides_nothing() -> None:
    against = replace(STRICT, against="main")
    assert not fails(OPEN["no_baseline"], against)
    assert fails(OPEN["inconclusive"], against)
    assert not fails(OPEN["no_baseline"], replace(against, require_baseline=True))
