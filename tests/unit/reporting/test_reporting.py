"""One report that cannot be written says so, and the others are written."""

from __future__ import annotations

import os
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
