"""The page's table of what a verdict does to a job is what a real pytest does."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.docs.ci_files import DOCS
from tests.plugin.canned_session import VERDICTS, Canned, suite

TESTS = (*VERDICTS, "error", "skipped")
OPTIONS = {
    "default": [],
    "--tfperf-strict": ["--tfperf-strict"],
    "--tfperf-require-baseline": ["--tfperf-require-baseline"],
}


def table() -> dict[str, dict[str, str]]:
    """By option and test: passes or fails."""
    page = (DOCS / "ci.md").read_text()
    text = page[page.index("## What a verdict does") : page.index("One test that fails")]
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line[:1] == "|"
    ]
    head = rows[0][1:]
    return {
        option: {re.split(r"[^a-z_]", row[0])[0]: row[1 + column] for row in rows[2:]}
        for column, option in enumerate(head)
    }


@pytest.fixture
def canned(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Canned:
    found = Canned(pytester, monkeypatch)
    found.save()
    return found


@pytest.mark.parametrize("option", OPTIONS)
def test_every_cell(canned: Canned, option: str) -> None:
    done = canned.gate(suite(*TESTS), "--junitxml=junit.xml", *OPTIONS[option])
    assert done.ret == 1
    found = {}
    for case in ElementTree.parse(canned.folder / "junit.xml").iter("testcase"):
        name = str(case.get("name")).partition("[")[0].removeprefix("test_")
        found[name] = "fails" if case.find("failure") is not None or case.find("error") is not None else "passes"
        verdicts = [each.get("value") for each in case.iter("property") if each.get("name") == "tfperf_verdict"]
        assert verdicts == ([name] if name in VERDICTS else []), "the test has the verdict that it is named after"
    assert found == table()[option]


def test_the_table_is_whole() -> None:
    assert set(table()) == set(OPTIONS)
    assert all(set(column) == set(TESTS) for column in table().values())
    assert {cell for column in table().values() for cell in column.values()} == {"passes", "fails"}


def test_a_job_without_one_that_fails_is_green(canned: Canned) -> None:
    done = canned.gate(suite(*(name for name in TESTS if table()["default"][name] == "passes")))
    assert done.ret == 0
    done.assert_outcomes(passed=5, skipped=1)
