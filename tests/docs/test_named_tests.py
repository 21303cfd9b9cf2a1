"""Every test that a page names exists, and every row of its tables names one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.ci_files import DOCS

TOP = DOCS.parent
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PAGES = ("reliability.md", "security.md")


def missing(text: str) -> list[str]:
    """What a text names and is not there."""
    return [f"{file}::{name}" for file, name in NAMED.findall(text) if name not in names_in(TOP / file)]


def names_in(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_every_named_test_exists(page: str) -> None:
    text = (DOCS / page).read_text()
    assert len(NAMED.findall(text)) > 15
    assert not missing(text)


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_one(page: str) -> None:
    rows = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith(("| ---", "| Fault", "| Claim", "| What the plugin does"))]
    assert len(rows) > 10
    assert not [row for row in rows if not NAMED.search(row)]


def test_the_check_can_fail() -> None:
    assert missing("`tests/docs/test_named_tests.py::test_nothing` `tests/none.py::test_a`") == [
        "tests/docs/test_named_tests.py::test_nothing",
        "tests/none.py::test_a",
    ]
