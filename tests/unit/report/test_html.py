"""The page holds what the session was, as text, whatever that text is."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from typing import Any, get_args

import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case, Outcome, SessionReport
from pytest_tfperf.report.html import to_html
from pytest_tfperf.report.html.assets import charts, table_script
from pytest_tfperf.report.text import failure_text
from tests.unit.report.hostile import HOSTILE, eventful, hostile
from tests.unit.report.page_text import Page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    return canned_report(tmp_path_factory.mktemp("session"), 60)


@pytest.fixture(scope="module")
def page(report: SessionReport) -> Page:
    return Page(to_html(report))


def scripts(page: Page) -> list[str]:
    """Those that run."""
    return [text for (tag, found), text in zip(page.elements, page.texts) if tag == "script" and "type" not in found]


def data_of(page: Page) -> list[Any]:
    """What charts draw."""
    return [
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        for text in page.all("script", type="application/json")
    ]


def test_the_same_report_gives_the_same_page(report: SessionReport) -> None:
    assert to_html(report) == to_html(report)


def test_it_is_well_formed(page: Page) -> None:
    assert page.unbalanced == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link for link in page.values("href") if link != "data:,"} <= {f"#{each}" for each in ids}


def test_every_case_is_a_row_and_has_its_text(report: SessionReport, page: Page) -> None:
    rows = [found for tag, found in page.elements if tag == "tr" and "data-word" in found]
    assert len(rows) == len(report.cases) == 60
    assert sorted(str(found["data-word"]) for found in rows) == sorted(case.word for case in report.cases)
    shown = page.all("pre")
    for case in report.cases:
        if case.text:
            assert re.sub(r"\x1b\[\d*m", "", case.text) in shown
        elif case.judgement is not None:
            assert failure_text(case.judgement.view) in shown


def test_what_needs_a_look_comes_first_and_is_open(report: SessionReport, page: Page) -> None:
    words = [str(found["data-outcome"]) for tag, found in page.elements if tag == "tr" and "data-word" in found]
    failed = sum(1 for case in report.cases if case.outcome in ("failed", "error"))
    assert failed > 0
    assert all(word in ("failed", "error") for word in words[:failed])
    assert all(word not in ("failed", "error") for word in words[failed:])
    tests = [
        (text, "open" in found) for (tag, found), text in zip(page.elements, page.texts) if found.get("class") == "test"
    ]
    needy = {case.test for case in report.cases if case.outcome in ("failed", "error")}
    assert len(tests) == len({case.test for case in report.cases})
    for text, is_open in tests:
        assert is_open == any(re.search(rf"{re.escape(test)}\b", text) for test in needy)
    assert [is_open for _, is_open in tests] == sorted((is_open for _, is_open in tests), reverse=True)


def test_the_figures_are_the_views(report: SessionReport, page: Page) -> None:
    cells = page.all("td", class_="number")
    for case in report.cases:
        if case.judgement is not None:
            assert case.judgement.throughput.text in cells
            assert case.judgement.step_time.text in cells
    case = next(case for case in report.cases if case.outcome == "failed" and case.judgement)
    assert case.judgement is not None
    worst = min(
        (each for each in case.judgement.metrics if each.verdict is Verdict.REGRESSED), key=lambda e: e.change.value
    )
    assert worst.change.text in [text.removeprefix(f"{worst.label} ") for text in cells]


def test_nothing_is_fetched_and_only_its_scripts_run(page: Page) -> None:
    policy = next(str(found["content"]) for _, found in page.elements if found.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert allowed == [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts(page)]
    assert len(allowed) == 6
    assert page.values("src") == []
    assert not re.search(r"url\(|@import", "".join(page.all("style")))
    assert [found for _, found in page.elements if any(name.startswith("on") for name in found)] == []


def test_hostile_text_stays_text(report: SessionReport, page: Page) -> None:
    runs = scripts(page)
    source = to_html(hostile(report))
    page = Page(source)
    assert page.unbalanced == []
    assert page.comments == []
    assert page.all("img") == []
    assert scripts(page) == runs
    assert [name for _, found in page.elements for name in found if name.startswith("on")] == []
    seen = HOSTILE.partition("\x1b")[0]
    assert page.all("h1")[0].endswith(HOSTILE)
    assert any(seen in text for text in page.all("pre"))
    assert any(seen in text for text in page.all("td"))
    assert any(HOSTILE in value for each in data_of(page) for value in each["series"])
    assert "\u2028" not in "".join(re.findall(r'<script type="application/json">(.*?)</script>', source))


def test_every_kind_of_case(report: SessionReport) -> None:
    judged = [case for case in report.cases if case.judgement is not None]
    bare = next(case for case in report.cases if case.judgement is None)
    kinds: list[Case] = []
    for case, verdict in zip(judged, Verdict):
        assert case.judgement is not None
        outcome: Outcome = "failed" if verdict is Verdict.REGRESSED else "passed"
        kinds.append(replace(case, outcome=outcome, judgement=replace(case.judgement, verdict=verdict)))
    for outcome in get_args(Outcome):
        kinds.append(
            replace(bare, id=f"bare {outcome}", test=f"bare {outcome}", outcome=outcome, text=f"why {outcome}")
        )
    page = Page(to_html(replace(report, cases=tuple(kinds))))
    assert [found["data-word"] for tag, found in page.elements if tag == "tr" and "data-word" in found] == [
        *("regressed", "failed", "error"),
        *("inconclusive", "incomparable", "no_baseline", "not run", "skipped", "improved", "unchanged", "passed"),
    ]
    for outcome in get_args(Outcome):
        assert f"why {outcome}" in page.all("pre")
    opened = [
        text for (_, found), text in zip(page.elements, page.texts) if found.get("class") == "test" and "open" in found
    ]
    assert sum("bare " in text for text in opened) == 2  # failed and error


def test_what_was_not_run_says_so(report: SessionReport) -> None:
    case = replace(report.cases[0], outcome="not run", judgement=None, text="")
    page = Page(to_html(replace(report, cases=(case,), sweeps=())))
    assert "The session ended before its turn, or in it." in page.all("p")
    assert data_of(page) == []


def test_the_header_has_a_tolerance_that_tests_may_differ_from(report: SessionReport) -> None:
    text = to_html(replace(report, settings=replace(report.settings, tolerance=0.25)))
    assert "the session&#39;s default tolerance 25.0 %, at most" in text


def test_a_session_without_tests(report: SessionReport) -> None:
    empty = replace(report, cases=(), sweeps=(), places={}, findings=(), saved=(), tally="", left_open="")
    page = Page(to_html(empty))
    assert page.unbalanced == []
    assert page.all("h1") == ["no test of distributed training was selected"]


def test_one_run_has_no_interval(tmp_path_factory: pytest.TempPathFactory) -> None:
    page = Page(to_html(canned_report(tmp_path_factory.mktemp("one"), 4, rounds=1)))
    points = [point for each in data_of(page) for point in each.get("points", ()) if point.get("series") == "now"]
    assert points
    assert all(point["low"] is None and point["high"] is None for point in points)
    assert not re.search(r"\b(inf|nan|None)\b", " ".join(page.all("td")))


def test_runs_of_another_revision_have_no_tasks(report: SessionReport) -> None:
    sweep = report.sweeps[0]
    arms = tuple(replace(arm, against=tuple(replace(run, tasks=()) for run in arm.runs)) for arm in sweep.arms)
    cases = tuple(
        replace(case, judgement=replace(case.judgement, view=replace(case.judgement.view, before="origin/main")))
        for case in report.cases
        if case.test == sweep.test and case.judgement
    )
    bare = replace(sweep, arms=arms)
    page = Page(to_html(replace(report, sweeps=(bare,), cases=cases, against="origin/main (abc1234)")))
    names = [name for each in data_of(page) for name in each["series"]]
    assert "T(4) at origin/main" in names
    assert "origin/main" in names
    nothing = tuple(replace(arm, runs=tuple(replace(run, tasks=()) for run in arm.runs)) for arm in arms)
    page = Page(to_html(replace(report, sweeps=(replace(sweep, arms=nothing),), cases=cases)))
    assert page.unbalanced == []
    assert "steps" not in page.values("data-kind")


def test_all_that_a_sweep_can_hold(report: SessionReport) -> None:
    page = Page(to_html(eventful(report, "canned1")))
    scaling, _, runs, steps = data_of(page)
    assert scaling["series"] == ["now", "origin/main", "versus ps_async", "ideal, N x T(1)", "floor"]
    ideal = {point["n"]: point["value"] for point in scaling["points"] if point["series"].startswith("ideal")}
    assert ideal[32] == pytest.approx(32 * ideal[1], rel=1e-4)
    assert {"T(32)", "T(32) at origin/main", "T(32) ps_async"} <= set(runs["series"])
    assert {point["disturbed"] for point in runs["points"]} == {True, False}
    note = "T(1), round 1: attempt 2 is the last; another program used 50 % of a core"
    assert note in page.all("li")
    measured = [len(run.tasks[0].windows) for run in eventful(report, "canned1").sweeps[0].arms[0].runs]
    assert sum(measured) > 60
    assert len(steps["ranks"][0]["values"]) == 60
    assert str(sum(measured)) in page.all("td", class_="number")  # the table counts them all


def test_changes_of_the_environment_are_told_once(report: SessionReport) -> None:
    judged = [case for case in report.cases if case.judgement is not None and case.judgement.baseline is not None]
    seen = {case.id for case in judged[:3]}

    def changed(case: Case) -> Case:
        if case.judgement is None or case.judgement.baseline is None:
            return case
        changes: tuple[tuple[str, str | None, str | None], ...] = (("tensorflow", "2.20.0", "2.21.0"),)
        if case.id in seen:
            changes += (("env.NCCL_DEBUG", None, "INFO"),)
        return replace(case, judgement=replace(case.judgement, changes=changes))

    page = Page(to_html(replace(report, cases=tuple(map(changed, report.cases)))))
    assert page.all("th", scope="row").count("tensorflow") == 2  # there, and in the environment
    assert page.all("th", scope="row").count("env.NCCL_DEBUG") == 1
    assert f"all {len(judged)}" in page.all("td")
    assert f"3 of {len(judged)}" in page.all("summary")
    assert "not set" in page.all("td")


def test_numbers_that_are_none_of_json(report: SessionReport) -> None:
    # A file of elsewhere, or a run that went wrong in a new way, costs its own points at most.
    sweep = report.sweeps[0]
    broken = tuple(
        replace(
            arm,
            runs=tuple(
                replace(
                    run,
                    throughput=math.nan if run.round == 1 else run.throughput,
                    tasks=tuple(
                        replace(task, windows=((0.0, 1.0, 0), *task.windows), own_step_time=math.inf)
                        for task in run.tasks
                    ),
                )
                for run in arm.runs
            ),
        )
        for arm in sweep.arms
    )
    page = Page(to_html(replace(report, sweeps=(replace(sweep, arms=broken),))))
    assert len(data_of(page)) == 4


def test_a_name_that_is_no_text(report: SessionReport) -> None:
    case = replace(report.cases[0], id="perf_tests/caf\udce9.py::test[1]")
    assert r"perf_tests/caf\udce9.py::test[1]" in to_html(replace(report, cases=(case,)))


def test_what_an_arm_adds_is_small(report: SessionReport, page: Page) -> None:
    own = len(to_html(report).encode()) - len(charts().encode()) - len(table_script().encode())
    assert own / len(report.cases) < 12_000
