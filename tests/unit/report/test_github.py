"""What GitHub Actions is told: within its limits, and nothing that it would take for something else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.errors import ReportError
from pytest_tfperf.report.document import Case, SessionReport
from pytest_tfperf.report.github import annotation_lines, append_summary
from pytest_tfperf.report.markdown import to_markdown

ROOT = Path("/checkout/repo/sub")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    return canned_report(tmp_path_factory.mktemp("session"), 60)


def of(report: SessionReport, word: str) -> Case:
    return next(case for case in report.cases if case.word == word)


def told(report: SessionReport, *cases: Case) -> list[dict[str, str]]:
    """The annotations of these cases, as the runner reads them."""
    return [
        read(line) for line in annotation_lines(replace(report, cases=cases), root=ROOT, workspace="/checkout/repo")
    ]


def read(line: str) -> dict[str, str]:
    """A command as actions/runner parses one: properties up to the second ::, then the message."""
    match = re.fullmatch(r"::(\w+) ([^\r\n]*?)::([^\r\n]*)", line)
    assert match is not None, line
    properties = dict(pair.split("=", 1) for pair in match[2].split(",")) if match[2] else {}
    escapes = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}

    def unescaped(text: str) -> str:
        return re.sub("%0D|%0A|%3A|%2C|%25", lambda found: escapes[found[0]], text)

    return {
        "kind": match[1],
        "message": unescaped(match[3]),
        **{key: unescaped(value) for key, value in properties.items()},
    }


def test_a_regression_is_an_error_at_its_test(report: SessionReport) -> None:
    case = of(report, "regressed")
    (found,) = told(report, case)
    assert found == {
        "kind": "error",
        "file": f"sub/{case.file}",
        "line": str(case.line),
        "title": f"regressed: {case.id}",
        "message": case.text,
    }


def test_an_error_has_the_log(report: SessionReport) -> None:
    case = replace(of(report, "error"), text="worker:1 died\n100 % ::error::x\r\n\x1b[31mred", id="t.py::a[x,y: 5%]")
    (found,) = told(report, case)
    assert found["kind"] == "error"
    assert found["title"] == "error: t.py::a[x,y: 5%]"
    assert found["message"] == "worker:1 died\n100 % ::error::x\nred"


@pytest.mark.parametrize(
    ("word", "kinds"), [("no_baseline", ["warning"]), ("unchanged", []), ("skipped", ["warning"]), ("error", ["error"])]
)
def test_what_is_told_of_what(report: SessionReport, word: str, kinds: list[str]) -> None:
    assert [found["kind"] for found in told(report, of(report, word))] == kinds


def test_a_session_that_skipped_everything_is_told(report: SessionReport) -> None:
    skipped = [case for case in report.cases if case.outcome == "skipped"]
    (found,) = told(report, *skipped)
    assert found["title"] == "pytest-tfperf measured nothing"
    assert found["message"] == f"{len(skipped)} test skipped and none measured:\nneeds 8 GPUs, this machine has 4"
    assert told(report, *skipped, of(report, "unchanged")) == []


def test_what_is_expected_not_to_be_decided_is_no_warning(report: SessionReport) -> None:
    case = of(report, "no_baseline")
    saving = replace(report, settings=replace(report.settings, save=True))
    smoke = replace(report, settings=replace(report.settings, smoke="benchmarks are off"))
    assert told(saving, case) == told(smoke, case) == told(replace(report, against="main"), case) == []


def test_what_strictness_fails_is_an_error_alone(report: SessionReport) -> None:
    case = replace(of(report, "no_baseline"), outcome="failed", text="strict")
    (found,) = told(report, case)
    assert (found["kind"], found["title"]) == ("error", f"failed, no_baseline: {case.id}")


@pytest.mark.parametrize("count", [9, 10, 11, 40])
def test_a_step_shows_ten_of_a_kind_the_worst_first(report: SessionReport, count: int) -> None:
    failed, error = of(report, "regressed"), of(report, "error")
    cases = [replace(error, id="lost"), *(replace(failed, id=f"slow{n}") for n in range(count - 1))]
    found = told(report, *cases)
    assert len(found) == min(count, 10)
    assert found[0]["title"] == "regressed: slow0"
    names = " ".join(each["title"] + each["message"] for each in found)
    assert all(case.id in names for case in cases)
    if count > 10:
        assert found[-1]["title"] == f"{count - 9} more tests"
        assert "error: lost" in found[-1]["message"]


def test_a_message_is_within_what_the_runner_takes(report: SessionReport) -> None:
    case = replace(of(report, "error"), text="100 %\n" * 5000)
    assert len(told(report, case)[0]["message"]) < 4096
    many = [replace(case, id=f"perf_tests/test_{n}.py::" + "x" * 200) for n in range(400)]
    assert all(len(found["message"]) < 4096 for found in told(report, *many))


@pytest.mark.parametrize(
    ("root", "workspace", "file"),
    [
        ("/checkout/repo", "/checkout/repo", "perf_tests/test_canned.py"),
        ("/checkout/repo", "", "perf_tests/test_canned.py"),
        ("/checkout/repo/a", "/checkout/repo", "a/perf_tests/test_canned.py"),
    ],
)
def test_paths_are_those_of_the_repository(report: SessionReport, root: str, workspace: str, file: str) -> None:
    lines = annotation_lines(replace(report, cases=(of(report, "error"),)), root=Path(root), workspace=workspace)
    assert read(lines[0])["file"] == file


def test_the_summary_is_appended_after_a_blank_line(report: SessionReport, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    append_summary(report, path)
    assert path.read_text() == to_markdown(report)
    path.write_text("| a table |\n| --- |\n| of another |")
    append_summary(report, path)
    append_summary(report, path)
    text = path.read_text()
    assert text.startswith("| a table |\n| --- |\n| of another |\n\n## Training speed")
    assert text.count("\n\n## Training speed") == 2


def test_what_a_step_has_written_before_takes_room(report: SessionReport, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 980_000 + b"\n\n")
    append_summary(report, path)
    text = path.read_bytes()
    assert len(text) <= 1_000_000
    assert b"**Shortened to " in text
    path.write_bytes(b"x" * 999_000)
    with pytest.raises(ReportError, match=r"999 kB already.*in a step of its own"):
        append_summary(report, path)
    assert path.stat().st_size == 999_000
