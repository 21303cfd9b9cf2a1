"""One report that cannot be written says so, and the others are written."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.cases import TestCase, TestCases
from pytest_tfperf.config import Outputs
from pytest_tfperf.report.document import Outcome
from pytest_tfperf.report.json_file import read_json
from pytest_tfperf.reporting import write_file, write_reports


def test_one_that_fails_loses_no_other(tmp_path: Path) -> None:
    report = canned_report(tmp_path / "session", 4)
    (tmp_path / "taken").mkdir()
    bad = write_reports(report, Outputs(json=tmp_path / "taken"))
    assert [line.failed for line in bad] == [True]
    assert "taken" in bad[0].text
    assert "JSON report was not written" in bad[0].text
    good = write_reports(report, Outputs(json=tmp_path / "new" / "report.json"))
    assert [line.failed for line in good] == [False]
    assert read_json(tmp_path / "new" / "report.json") == report


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(real)
    write_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_device_is_written_to() -> None:
    write_file(Path(os.devnull), b"anything")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("noted", "outcome"),
    [
        ([], "not run"),
        (["passed"], "passed"),
        (["failed"], "failed"),
        (["passed", "error"], "error"),
        (["failed", "error"], "failed"),
        (["skipped"], "skipped"),
        (["error"], "error"),
    ],
)
def test_the_worst_of_a_tests_phases_counts(noted: list[Outcome], outcome: Outcome) -> None:
    cases = TestCases()
    cases.add(case())
    for each in noted:
        cases.note("t[1]", each, f"why it {each}")
    (found,) = cases
    assert found.outcome == outcome
    assert found.text == (f"why it {outcome}" if noted else "")


def test_a_rerun_replaces_what_was_before() -> None:
    cases = TestCases()
    cases.add(case())
    cases.note("t[1]", "failed", "once")
    cases.restart("t[1]")
    cases.note("t[1]", "passed")
    assert [(found.outcome, found.text) for found in cases] == [("passed", "")]


def case() -> TestCase:
    from benchmarks.canned import canned_specs

    ((spec, count),) = canned_specs(1)
    return TestCase("t[1]", spec, count, "t.py", 1)


def test_a_writer_that_trips_over_something_of_its_own_loses_no_other(tmp_path: Path) -> None:
    report = canned_report(tmp_path / "session", 4)
    broken = replace(report, started="no date")  # which TensorBoard's writer needs
    outputs = Outputs(tensorboard=tmp_path / "events", json=tmp_path / "report.json")
    written = write_reports(broken, outputs)
    assert [line.failed for line in written] == [False, True]
    assert written[1].text.startswith("TensorBoard events was not written: ValueError: ")
    assert re.search(r" \(tensorboard\.py:\d+\)$", written[1].text)
    assert read_json(tmp_path / "report.json") == broken


def test_a_name_that_is_no_text_costs_no_report(tmp_path: Path) -> None:
    report = canned_report(tmp_path / "session", 4)
    odd = replace(report.cases[0], id="test_\udcff.py::test_a[1]", text="\ud800")
    odd_report = replace(report, cases=(odd, *report.cases[1:]))
    outputs = Outputs(
        json=tmp_path / "a.json", markdown=tmp_path / "a.md", html=tmp_path / "a.html", tensorboard=tmp_path / "events",
        history=f"sqlite:///{tmp_path / 'a.db'}", job_summary=tmp_path / "summary.md",
    )  # fmt: skip
    assert [line.text for line in write_reports(odd_report, outputs) if line.failed] == []
    assert read_json(tmp_path / "a.json").cases[0].id == "test_\\udcff.py::test_a[1]"
