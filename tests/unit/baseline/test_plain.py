"""The quick reader gives what the YAML parser gives, or leaves the text to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tfperf.baseline import reading
from pytest_tfperf.baseline.codec import FileProblem, parse
from pytest_tfperf.baseline.plain import read_plain
from pytest_tfperf.baseline.store import BaselineStore
from tests.unit.baseline.entries import ENVIRONMENT, make_entry

FILE = """\
# a comment at the top
a: 1
word: round_robin of (some)  # beside
'2026-11-27T22:36:48Z': 'it''s # no comment: really'

numbers: [1, -2.5, 0.1, 3.0e-05]
  # indented anyhow
deep:
  2:
    # above
    x: [1.25]
    nothing: {}
    flag: true
  4:
    none: null
    path: tests/a.py::test_a
    time: 'x: y'
"""


def agrees(text: str) -> bool:
    """Whether the quick reader reads the text; then the parser has to read the same."""
    found = read_plain(text)
    if found is not None:
        assert repr(found) == repr(parse(text).data)
    return found is not None


def test_a_file_with_comments_and_edits_is_read() -> None:
    assert agrees(FILE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only this\n",
        "a:\n",
        "a:\nb: 1\n",
        "a:\n  b:\nc: 1\n",
        "a: 1\n  b: 2\n",
        "a: 1\na: 2\n",
        "a:\n   b: 1\n",
        " a: 1\n",
        "a:\n    b: 1\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\n",
        "a: [1, 2\n",
        "a: [x, y]\n",
        "a: !!int 1\n",
        "a: &x 1\n",
        "a: *x\n",
        "a: |\n  text\n",
        "a: 010\n",
        "a: 1_000\n",
        "a: 0x10\n",
        "a: 1e5\n",
        "a: .5\n",
        "a: +1\n",
        "a: .inf\n",
        "a: yes\n",
        "a: True\n",
        "a: ~\n",
        "a: b: c\n",
        "a: b # c: d\n  e: f\n",
        "a: 'b\n",
        "a: 'b\n  c'\n",
        'a: "b"\n',
        "a: b\n  c\n",
        "a:\tb\n",
        "true: 1\n",
        "0: 1\n",
        "? a\n: 1\n",
        "- a\n",
        "a: caf\u00e9\n",
        "<<<<<<< HEAD\na: 1\n",
        "k" * 1100 + ": 1\n",
        "".join("  " * depth + "a:\n" for depth in range(9)) + "  " * 9 + "a: 1\n",
    ],
)
def test_what_is_not_as_the_writer_writes_is_left_to_the_parser(text: str) -> None:
    assert read_plain(text) is None


SCALARS = ("a", "b", "yes", "null", "1", "2.5", "-0", "1.0e05", "'q'", "'", "[1, 2]", "[]", "{}", "x: y", "x:y", "a b")
BETWEEN = ("# c", " # c", ":", ": ", " ", "  ", "    ", "\n", "\n  ", "\n    ", "a: 1\n", "\n\n", *"-&!|,")
PIECES = st.sampled_from([*SCALARS, *BETWEEN])


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_is_read_alike_or_not_at_all(text: str) -> None:
    agrees(text)


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_file_is_read_alike_or_not_at_all(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(FILE)))
    end = data.draw(st.integers(start, min(len(FILE), start + 8)))
    try:
        agrees(FILE[:start] + data.draw(PIECES | st.just("")) + FILE[end:])
    except FileProblem as problem:
        pytest.fail(f"only the quick reader takes it: {problem}")


def test_a_file_that_nobody_edited_never_meets_the_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = BaselineStore(tmp_path)
    monkeypatch.setattr(reading, "parse", lambda text: pytest.fail("parsed"))
    store.save([make_entry(2)])
    store.save([make_entry(2, date="2026-11-28T22:36:48Z"), make_entry(4)])
    found = BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert len(found.sessions) == 2
