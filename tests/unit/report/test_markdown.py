"""A session as Markdown: all that happened, the worst first, and no more than fits."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks.canned_report import LOG, canned_report
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.markdown import to_markdown
from tests.unit.report.test_markup import Page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    made = canned_report(tmp_path_factory.mktemp("session"), 60)
    return replace(made, commit="a1b2c3d4" * 5, dirty=True, findings=("a.py, suspects on cpu: <none> @all",))


def rows(markdown: str) -> list[list[str]]:
    """The cells of the table's rows, as the page has them."""
    cells = Page(markdown[markdown.index("| verdict") : markdown.index("\nIn brackets")]).cells
    width = cells.index("E(N)") + 1
    return [cells[at : at + width] for at in range(width, len(cells), width)]


def test_the_head_says_what_when_and_where(report: SessionReport) -> None:
    text = to_markdown(report)
    assert text.startswith(f"## Training speed: {report.tally}\n")
    outcomes = [case.outcome for case in report.cases]
    assert f"**{outcomes.count('failed')} failed, {outcomes.count('error')} error, " in text
    assert f"{report.started[:10]} {report.started[11:19]} UTC, commit `a1b2c3d4a1b2` with uncommitted changes" in text
    assert f"On cpu: `{report.places['cpu'].name}` (" in text
    assert f"`--tfperf-strict` would fail {report.left_open}." in text


def test_every_measured_arm_has_a_row_failures_first(report: SessionReport) -> None:
    found = rows(to_markdown(report))
    measured = [case for case in report.cases if case.judgement or case.outcome == "error"]
    assert {row[1] for row in found} == {case.id for case in measured}
    assert len(found) == len(measured)
    words = [row[0].split(" ", 1)[1] for row in found]
    assert words == sorted(words, key=["regressed", "error", "no_baseline", "unchanged"].index)
    case = next(case for case in report.cases if case.outcome == "failed" and case.replicas == 4)
    assert case.judgement is not None
    row = next(row for row in found if row[1] == case.id)
    for cell, shown in zip(row[2:], case.judgement.view.rows):
        assert cell == f"{shown.now} ({shown.change})"


def test_an_arm_that_is_its_own_reference_has_one_figure(report: SessionReport) -> None:
    case = next(case for case in report.cases if case.judgement is not None)
    assert case.judgement is not None
    alone = replace(case.judgement, view=replace(case.judgement.view, rows=case.judgement.view.rows[:1]))
    (row,) = rows(to_markdown(replace(report, cases=(replace(case, judgement=alone),))))
    assert row[2] == row[3] != ""
    assert row[4] == ""


def test_what_both_arms_lost_takes_no_other_figures_place(report: SessionReport) -> None:
    """T(1) x T(4) is a row of the failure's own table; in the overview it would stand for T(4)."""
    case = next(case for case in report.cases if case.outcome == "failed" and case.replicas == 4)
    assert case.judgement is not None
    view = case.judgement.view
    one, four, *rest = view.rows
    both = replace(four, label="T(1) x T(4)", now="4 444", change="-44.4 %")
    for seen in ((one, four, *rest, both), (one, four, both, *rest)):
        judgement = replace(case.judgement, view=replace(view, rows=seen))
        (row,) = rows(to_markdown(replace(report, cases=(replace(case, judgement=judgement),))))
        assert row[2:5] == [f"{shown.now} ({shown.change})" for shown in (one, four, rest[0])]


def test_each_failure_has_its_table_in_a_block(report: SessionReport) -> None:
    page = Page(to_markdown(report))
    failed = [case for case in report.cases if case.outcome in ("failed", "error")]
    assert page.tags.count("details") == len(failed)
    blocks = {code.strip("\n") for code in page.code if "\n" in code}
    for case in failed:
        assert case.id in page.code
        if case.outcome == "failed":
            assert case.text in blocks


def test_an_assertion_of_the_tests_own_gets_the_table_too(report: SessionReport) -> None:
    case = next(case for case in report.cases if case.word == "unchanged")
    assert case.judgement is not None
    failed = replace(case, outcome="failed", text="E   assert 1 == 2")
    text = to_markdown(replace(report, cases=(failed,)))
    assert "🔴 failed, unchanged" in text
    assert "E   assert 1 == 2" in text
    assert f"{case.judgement.view.title}   UNCHANGED" in text


def test_an_error_has_its_log_and_nothing_of_it_is_markup(report: SessionReport) -> None:
    page = Page(to_markdown(report))
    assert not {"script", "b", "a"} & set(page.tags)
    assert "alert('log')" in "".join(page.code)
    assert LOG not in "".join(page.code), "without its colours"


def test_what_changed_is_told_once_with_its_arms(report: SessionReport) -> None:
    change = ("tensorflow", "2.20.0", "2.21.0")
    cases = tuple(
        replace(case, judgement=replace(case.judgement, changes=(change, ("xla", None, "on"))))
        if case.judgement
        else case
        for case in report.cases[:4]
    )
    text = to_markdown(replace(report, cases=cases))
    assert "- `tensorflow`: `2.20.0` -> `2.21.0`, under 4 arms\n" in text
    assert "- `xla`: not set -> `on`, under 4 arms\n" in text


def test_findings_skips_and_saved_baselines_are_told(report: SessionReport) -> None:
    text = to_markdown(replace(report, saved=("t[1]: baselines/x.yaml",)))
    assert "- a.py, suspects on cpu: &lt;none&gt; @&#8203;all" in text
    skipped = [case for case in report.cases if case.outcome == "skipped"]
    assert f"- {len(skipped)} skipped, needs 8 GPUs, this machine has 4: `{skipped[0].id}`" in text
    assert "- `t[1]: baselines/x.yaml`" in text


def test_what_casts_doubt_on_what_passed_is_told(report: SessionReport) -> None:
    case = next(case for case in report.cases if case.outcome == "passed" and case.judgement is not None)
    assert case.judgement is not None
    view = replace(case.judgement.view, findings=("The stored session was saved by force: <b>.",))
    doubtful = replace(case, judgement=replace(case.judgement, view=view))
    text = to_markdown(replace(report, cases=(doubtful,)))
    assert "### Beside what passed" in text
    assert f"- `{case.id}`: The stored session was saved by force: " in text
    assert "<b>" not in text
    # What failed has it in its text.
    assert "### Beside what passed" not in to_markdown(replace(report, cases=(replace(doubtful, outcome="failed"),)))


def test_what_was_not_run_is_no_pass(report: SessionReport) -> None:
    cut = tuple(replace(case, outcome="not run", judgement=None, text="") for case in report.cases[:3])
    text = to_markdown(replace(report, cases=cut))
    assert "**3 not run**" in text
    assert "- 3 not run, the session ended before or in their turn: " in text


def test_the_command_measures_what_failed_again(report: SessionReport) -> None:
    text = to_markdown(replace(report, against="origin/main"))
    command = text[text.index("### Again") :].partition("```text\n")[2].partition("\n```")[0]
    failed = [case for case in report.cases if case.outcome in ("failed", "error")]
    assert len(failed) > 10, "or the limit is not tried"
    assert command.count("::test_canned") == 10
    assert f"The command has the worst 10 of {len(failed)}." in text
    assert "--tfperf-rounds 10" in command
    assert "--tfperf-against origin/main" in command


def test_the_command_measures_as_the_session_did(report: SessionReport) -> None:
    settings = replace(report.settings, rerun_options="--tfperf-window 0.2 --tfperf-strict")
    text = to_markdown(replace(report, settings=settings))
    assert f"--tfperf-rounds {2 * settings.rounds} \\\n  --tfperf-window 0.2 --tfperf-strict\n" in text


def test_against_a_revision_the_change_is_since_that(report: SessionReport) -> None:
    assert "In brackets: the change since `origin/main`." in to_markdown(replace(report, against="origin/main"))


def test_a_session_without_tests_is_said_to_be_one(report: SessionReport) -> None:
    text = to_markdown(replace(report, cases=(), sweeps=(), places={}, tally="", left_open=""))
    assert text.startswith("## Training speed: nothing was selected\n\n**no test**")


def test_half_a_character_of_a_log_is_no_obstacle(report: SessionReport) -> None:
    case = replace(report.cases[0], outcome="error", judgement=None, text="log: \udcff\ud83d")
    to_markdown(replace(report, cases=(case,))).encode()


@pytest.mark.parametrize("limit", [4_000, 12_000, 40_000, 120_000])
def test_a_limit_is_kept_and_failures_stay_longest(report: SessionReport, limit: int) -> None:
    whole = to_markdown(report)
    text = to_markdown(report, limit)
    assert len(text.encode()) <= limit
    if limit > len(whole.encode()):
        assert text == whole
        return
    assert "**Shortened to" in text
    left = re.search(r"Left out: ([^.]*)\.", text)
    assert left is not None
    kept = [row[0].split(" ", 1)[1] for row in rows(text)]
    if "passed row" not in left[1]:
        return
    for kind, word in (("undecided row", "no_baseline"), ("failed row", "regressed")):
        total = sum(case.word == word for case in report.cases)
        assert (kept.count(word) == total) or kind in left[1]
    if "failed row" in left[1]:
        assert "unchanged" not in kept
        assert "<details" not in text


def test_texts_of_failures_are_cut_before_one_is_left_out(report: SessionReport) -> None:
    failed = next(case for case in report.cases if case.outcome == "error")
    many = tuple(replace(failed, id=f"t[{n}]", text=f"lost {n}\n" + "log\n" * 20_000) for n in range(40))
    text = to_markdown(replace(report, cases=many), 500_000)
    assert len(text.encode()) <= 500_000
    assert text.count("<details") == 40
    assert text.count("characters left out") == 40


def test_500_arms_fit_a_step_of_github(report: SessionReport) -> None:
    cases = tuple(replace(report.cases[n % 60], id=f"a/t.py::test{n}[8]") for n in range(2000))
    text = to_markdown(replace(report, cases=cases), 1_000_000)
    assert len(text.encode()) <= 1_000_000
    assert sum(row[0].endswith("regressed") for row in rows(text)) == sum(case.word == "regressed" for case in cases)
