"""What a reader sees first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case, SessionReport
from pytest_tfperf.report.html.words import SYMBOLS, counted
from pytest_tfperf.report.ranking import ORDER, loss, status, worst_first


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    return canned_report(tmp_path_factory.mktemp("session"), 60)


def test_failures_come_first_the_largest_loss_of_all(report: SessionReport) -> None:
    ranked = worst_first(reversed(report.cases))
    words = [case.word for case in ranked]
    first = {word: words.index(word) for word in words}
    assert sorted(first, key=first.__getitem__) == ["regressed", "error", "no_baseline", "skipped", "unchanged"]
    losses = [loss(case) for case in ranked if case.outcome == "failed"]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(0.2, abs=0.05)


def test_words_are_counted_in_the_same_order() -> None:
    assert sorted(SYMBOLS) == sorted(ORDER)
    words = counted(["unchanged", "regressed", "odd", "failed", "unchanged"])
    assert [(word.text, word.count) for word in words] == [
        ("failed", 1),
        ("regressed", 1),
        ("unchanged", 2),
        ("odd", 1),
    ]


def test_a_status_says_what_the_verdict_does_not(report: SessionReport) -> None:
    def of(word: str) -> Case:
        return next(case for case in report.cases if case.word == word)

    assert status(of("regressed")) == "regressed"
    assert status(of("error")) == "error"
    assert status(of("skipped")) == "skipped"
    assert status(of("no_baseline")) == "no_baseline"
    assert status(replace(of("unchanged"), outcome="failed")) == "failed, unchanged"
    assert status(replace(of("unchanged"), outcome="error")) == "error, unchanged"


def test_a_missed_floor_is_a_loss(report: SessionReport) -> None:
    case = next(case for case in report.cases if case.word == "unchanged" and case.judgement and case.judgement.floors)
    assert loss(case) == 0
    assert case.judgement is not None
    (floor,) = case.judgement.floors
    missed = replace(floor, floor=2 * floor.now.value, verdict=Verdict.REGRESSED)
    assert loss(replace(case, judgement=replace(case.judgement, floors=(missed,)))) == pytest.approx(0.5)
