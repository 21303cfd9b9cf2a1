"""A report survives being written and read, and what is no report is refused with its reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.canned_report import LOG, canned_report
from pytest_tfperf.errors import ReportError
from pytest_tfperf.report.document import SCHEMA_VERSION, SessionReport
from pytest_tfperf.report.json_file import from_json, json_schema, read_json, to_json


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    return canned_report(tmp_path_factory.mktemp("session"), 60)


def test_what_is_read_is_what_was_written(report: SessionReport, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(to_json(report))
    assert read_json(path) == report


def test_it_has_all_that_a_session_can_show(report: SessionReport) -> None:
    assert {case.word for case in report.cases} >= {"unchanged", "regressed", "no_baseline", "error", "skipped"}
    assert {case.outcome for case in report.cases} == {"passed", "failed", "error", "skipped"}
    failed = next(case for case in report.cases if case.outcome == "failed")
    assert failed.judgement is not None
    assert failed.judgement.view.headline == failed.headline != ""
    sweep = report.sweep_of(failed)
    assert sweep is not None
    assert sweep.arms[0].label == "T(1)"
    arm = next(arm for arm in sweep.arms if arm.replicas == failed.replicas)
    assert LOG in arm.logs.values()
    assert {run.round for run in arm.runs} == set(range(1, len(arm.runs) + 1))
    assert len(arm.runs[0].tasks) == failed.replicas
    assert failed.judgement.baseline is not None
    assert len(failed.judgement.baseline.sessions) == 5


TRACEBACK = """tfperf = <Measured object at 0x7f8e0f73ac50>

    def test_own(tfperf):
>       assert tfperf.throughput > 1e9
E       assert 1095.8 > 1000000000.0
E        +  where 1095.8 = <Measured object at 0x7f8e0f73ac50>.throughput

perf_tests/test_small.py:18: AssertionError"""


def test_the_headline_of_a_test_that_failed_by_its_own_assertion_is_what_it_asserted(report: SessionReport) -> None:
    passed = next(case for case in report.cases if case.outcome == "passed")
    assert passed.headline == ""
    own = replace(passed, outcome="failed", text=TRACEBACK)
    assert own.headline == "assert 1095.8 > 1000000000.0"
    assert replace(passed, judgement=None, outcome="error", text="worker:3 died\nmore").headline == "worker:3 died"


def test_intervals_that_are_not_known_are_null(tmp_path: Path) -> None:
    # One run shows no noise: JSON has no infinity.
    report = canned_report(tmp_path, 4, rounds=1)
    text = to_json(report).decode()
    judgement = report.cases[-1].judgement
    assert judgement is not None
    assert judgement.throughput.low is None
    assert "Infinity" not in text
    assert "NaN" not in text
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def changed(report: SessionReport, **values: Any) -> bytes:
    return json.dumps({**json.loads(to_json(report)), **values}).encode()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"schema_version": SCHEMA_VERSION + 1}, "a newer pytest-tfperf wrote it"),
        ({"schema_version": 0}, f"has schema_version 0, this version reads {SCHEMA_VERSION}"),
        ({"schema_version": "1"}, "not a report of pytest-tfperf"),
        ({"schema_version": True}, "not a report of pytest-tfperf"),
        ({"seconds": "long"}, r"Expected `float`, got `str` - at `$.seconds`"),
        ({"cases": [{"id": "a"}]}, "missing required field"),
    ],
)
def test_another_version_or_shape(report: SessionReport, values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReportError) as caught:
        from_json(changed(report, **values), "night.json")
    assert str(caught.value).startswith("night.json: ")
    assert reason in str(caught.value)


def test_what_is_added_later_is_no_obstacle(report: SessionReport) -> None:
    assert from_json(changed(report, weather="fine"), "night.json") == report


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"\xff", b'{"cases": 1', b"[" * 100_000])
def test_no_report_at_all(data: bytes) -> None:
    with pytest.raises(ReportError, match=r"night\.json: not (JSON|a report)"):
        from_json(data, "night.json")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be read: No such file"):
        read_json(tmp_path / "none.json")


def test_the_schema_names_every_field(report: SessionReport) -> None:
    fields = json.loads(json_schema())["$defs"]["SessionReport"]["properties"]
    assert set(fields) == set(json.loads(to_json(report)))
