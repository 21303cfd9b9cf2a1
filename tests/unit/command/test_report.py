"""`tfperf report` gives a saved report back as the night itself would have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.html import to_html
from pytest_tfperf.report.markdown import to_markdown
from pytest_tfperf.report.text import failure_text, summary_lines
from tests.unit.command.made import session, tfperf, written

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def report() -> SessionReport:
    return session(60)


@pytest.fixture
def saved(report: SessionReport, tmp_path: Path) -> Path:
    return written(tmp_path / "night.json", report)


def test_the_terminals_tables_and_summary(report: SessionReport, saved: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "report", saved)
    assert ran.code == 0  # though tests failed: it only converts
    judged = [case.judgement for case in report.cases if case.judgement]
    failed = [case for case in report.cases if case.outcome == "failed"]
    assert failed
    for case in failed:
        assert case.judgement is not None
        assert failure_text(case.judgement.view) in ran.out
        assert f" {case.id} " in ran.out
    for line, _ in summary_lines([judgement.view for judgement in judged]):
        assert line in ran.out
    assert report.tally in ran.out
    error = next(case for case in report.cases if case.outcome == "error")
    assert f" ERROR {error.id} " in ran.out
    assert "worker:3 died (SIGKILL)" in ran.out
    skipped = next(case for case in report.cases if case.outcome == "skipped")
    assert f"{skipped.id}  skipped: needs 8 GPUs" in ran.out


def test_a_test_that_failed_for_something_else(report: SessionReport, tmp_path: Path, capsys: Capture) -> None:
    passed = next(case for case in report.cases if case.outcome == "passed")
    cases = (replace(passed, outcome="failed", text="assert 0.7 > 0.9"),)
    ran = tfperf(capsys, "report", written(tmp_path / "a.json", replace(report, cases=cases)))
    assert "assert 0.7 > 0.9" in ran.out


def test_the_page_and_the_markdown(report: SessionReport, saved: Path, tmp_path: Path, capsys: Capture) -> None:
    html, markdown = tmp_path / "new" / "night.html", tmp_path / "night.md"
    ran = tfperf(capsys, "report", saved, "--html", html, "--markdown", markdown)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert html.read_text() == to_html(report)
    assert markdown.read_text() == to_markdown(report)


def test_a_place_that_cannot_be_written(saved: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("")
    ran = tfperf(capsys, "report", saved, "--markdown", tmp_path / "file" / "night.md")
    assert ran.code == 3
    assert "night.md: cannot be written" in ran.err


def test_one_that_cannot_be_written_does_not_cost_the_other(saved: Path, tmp_path: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "report", saved, "--html", "/dev/full", "--markdown", tmp_path / "night.md")
    assert ran.code == 3
    assert "/dev/full: cannot be written: No space left on device" in ran.err
    assert (tmp_path / "night.md").is_file()


@pytest.mark.parametrize("option", ["--html", "--markdown"])
def test_the_report_itself_is_not_written_over(saved: Path, capsys: Capture, option: str) -> None:
    before = saved.read_bytes()
    ran = tfperf(capsys, "report", saved, option, saved.parent / "x" / ".." / saved.name)
    assert ran.code == 2
    assert f"FILE.json and {option} both name " in ran.err
    assert saved.read_bytes() == before


def test_a_page_and_markdown_need_a_place_each(saved: Path, tmp_path: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "report", saved, "--html", tmp_path / "a", "--markdown", tmp_path / "a")
    assert ran.code == 2
    assert "--html and --markdown both name " in ran.err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"", "not JSON"),
        (b"schema_version: 3\n", "not JSON"),
        (b"{}", "not a report of pytest-tfperf; --tfperf-json FILE writes one"),
        (b'{"schema_version": 0, "cases": []}', "has schema_version 0"),
    ],
)
def test_what_is_no_report(tmp_path: Path, capsys: Capture, content: bytes | None, message: str) -> None:
    path = tmp_path / "night.json"
    if content is not None:
        path.write_bytes(content)
    ran = tfperf(capsys, "report", path)
    assert ran.code == 3
    assert message in ran.err
    assert str(path) in ran.err


def test_a_folder_is_no_report(tmp_path: Path, capsys: Capture) -> None:
    ran = tfperf(capsys, "report", tmp_path)
    assert ran.code == 3
    assert "cannot be read: it is a folder" in ran.err


def test_a_session_without_tests(report: SessionReport, tmp_path: Path, capsys: Capture) -> None:
    empty = replace(report, cases=(), sweeps=(), tally="", findings=())
    ran = tfperf(capsys, "report", written(tmp_path / "a.json", empty))
    assert ran.code == 0
    assert "no test measured anything" in ran.out
