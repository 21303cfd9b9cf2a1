"""The page about the JSON report is that of the code, its schema takes what is written, and its examples work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jq  # type: ignore[import-not-found]
import jsonschema
import pytest

from benchmarks.canned_report import canned_report
from docs.json_page import PAGE, SCHEMA, descriptions, page, records, schema
from pytest_tfperf.report.document import SCHEMA_VERSION, SessionReport
from pytest_tfperf.report.json_file import to_json
from tests.docs.ci_files import DOCS

BLOCKS = re.findall(r"```(jq|python)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    return canned_report(tmp_path_factory.mktemp("session"), 60)


@pytest.fixture(scope="module")
def written(report: SessionReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "report.json"
    path.write_bytes(to_json(report))
    return path


def test_page_and_schema_are_up_to_date() -> None:
    assert PAGE.read_text() == page(), "python -m docs.json_page"
    assert SCHEMA.read_text() == schema(), "python -m docs.json_page"


def test_every_field_says_what_it_is() -> None:
    missing = [
        f"{record.__name__}.{name}" for record in records() for name, text in descriptions(record).items() if not text
    ]
    assert missing == []
    assert f"version {SCHEMA_VERSION}, the first" in " ".join(PAGE.read_text().split())


@pytest.mark.parametrize(("arms", "rounds"), [(60, None), (4, 1)])
def test_reports_validate(arms: int, rounds: int | None, tmp_path: Path) -> None:
    content = json.loads(to_json(canned_report(tmp_path, arms, rounds=rounds)))
    known = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(known)
    jsonschema.Draft202012Validator(known).validate(content)


@pytest.mark.parametrize(("field", "value"), [("seconds", "long"), ("cases", [{}]), ("places", {"cpu": 1})])
def test_the_schema_can_fail(report: SessionReport, field: str, value: Any) -> None:
    content = {**json.loads(to_json(report)), field: value}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(content)


def run_jq(program: str, report: SessionReport) -> list[Any]:
    return list(jq.compile(program).input_text(to_json(report).decode()).all())


def programs() -> list[str]:
    return [text for language, text in BLOCKS if language == "jq"]


def test_the_worst_arm(report: SessionReport) -> None:
    (found,) = run_jq(programs()[0], report)
    assert found["change"] == pytest.approx(-0.2, abs=0.05)
    assert next(case for case in report.cases if case.id == found["id"]).word == "regressed"


def test_a_floor_for_all(report: SessionReport) -> None:
    assert run_jq(programs()[1], report) == [False]
    assert run_jq(programs()[1].replace("0.85", "0.1"), report) == [True]


def test_every_run_is_in_the_table(report: SessionReport) -> None:
    rows = run_jq(programs()[2], report)
    assert len(rows) == sum(len(arm.runs) for sweep in report.sweeps for arm in sweep.arms)
    assert rows[0].startswith(f'"{report.sweeps[0].test}","T(1)",1,')


def test_the_python_examples_run(report: SessionReport, written: Path) -> None:
    examples = [text for language, text in BLOCKS if language == "python"]
    assert len(examples) == 2
    for text in examples:
        done = subprocess.run(
            [sys.executable, "-c", text, str(written)], capture_output=True, text=True, check=True, cwd=DOCS.parent
        )
        assert report.sweeps[0].test in done.stdout
        assert len(done.stdout.splitlines()) >= len(report.cases) - 10


def test_the_other_pages_jq_lines(report: SessionReport) -> None:
    text = (DOCS / "ci.md").read_text()
    enough, metrics = re.findall(r"^jq -[er] '(.*)' tfperf/report\.json", text, flags=re.MULTILINE)
    judged = sum(case.word in ("improved", "unchanged", "regressed") for case in report.cases)
    assert run_jq(enough.replace("24", str(judged)), report) == [True]
    assert run_jq(enough.replace("24", str(judged + 1)), report) == [False]
    lines = run_jq(metrics, report)
    assert len(lines) == sum(case.judgement is not None for case in report.cases)
    assert all(re.fullmatch(r'throughput\{test="[^"]+"\} [\d.]+', line) for line in lines)
