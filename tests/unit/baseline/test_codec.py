"""Text to data and back: nothing is lost, and what did not change keeps its spelling."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tfperf.baseline.codec import Data, parse
from pytest_tfperf.baseline.derived import rounded
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.baseline.writer import render
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance

texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    [
        "",
        "null",
        "true",
        "on",
        "1",
        "1.5",
        "1e5",
        ".nan",
        "0x1f",
        "2026-11-27",
        "a: b",
        "a #b",
        "- x",
        "a:",
        " a ",
        "<<",
        "=",
    ]
)
scalars = (
    texts
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
leaves = scalars | st.lists(scalars, min_size=1, max_size=4)
documents = st.dictionaries(
    texts | st.integers(0, 99), leaves | st.dictionaries(texts, leaves, max_size=4), min_size=1, max_size=5
)


@settings(max_examples=200, deadline=None)
@given(documents)
def test_any_data_survives(data: dict[object, object]) -> None:
    text = render(data)  # type: ignore[arg-type]
    document = parse(text)
    assert repr(document.data) == repr(data)
    assert render(document.data, document) == text


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
values = st.floats(1e-9, 1e9).map(lambda value: float(rounded(value)))


seconds = st.integers(1, 999).map(lambda number: number / 10)
"""Three digits of these are stored."""
dates = st.datetimes(datetime(1970, 1, 1)).map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ"))


@st.composite
def sessions(draw: st.DrawFn, date: str) -> BaselineSession:
    rounds = draw(st.integers(1, 6))
    one, one_step, many, many_step = (tuple(draw(st.lists(values, min_size=rounds, max_size=rounds))) for _ in range(4))
    return BaselineSession(
        Provenance(
            date,
            draw(texts),
            draw(st.booleans()),
            draw(texts),
            draw(texts.filter(lambda text: not text or text.strip())),
        ),
        draw(st.dictionaries(texts.filter(bool), texts, max_size=4)),
        one,
        one_step,
        many,
        many_step,
        draw(st.none() | st.tuples(seconds, seconds)),
    )


@st.composite
def entries(draw: st.DrawFn) -> BaselineEntry:
    when = sorted(draw(st.lists(dates, min_size=1, max_size=3, unique=True)))
    return BaselineEntry(
        workload=draw(names),
        strategy=draw(names),
        variant=draw(st.none() | names),
        replicas=draw(st.integers(1, 4096)),
        definition=draw(st.dictionaries(texts.filter(bool), scalars, max_size=4)),
        hard={"cpu_model": draw(texts.map(lambda text: "x" + text)), "cpu_cores": draw(st.integers(1, 512))},
        sessions=tuple(draw(sessions(date)) for date in when),
        floor=draw(st.none() | st.floats(0.01, 1.5)),
        tolerance=draw(st.none() | st.floats(0.001, 0.9)),
    )


@settings(max_examples=40, deadline=None)
@given(entries())
def test_what_is_saved_is_found(entry: BaselineEntry) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = BaselineStore(Path(folder))
        [saved] = store.save([entry])
        before = saved.path.read_bytes()
        assert store.find(entry.environment, entry.name, entry.replicas) == entry
        store.save([entry])
        assert saved.path.read_bytes() == before


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["# c", "    # deep", "", "  # mid", "      # deeper"]), max_size=12), st.data())
def test_comments_anywhere_stay_where_they_are(comments: list[str], data: st.DataObject) -> None:
    rows = ["a: 1", "b:", "  2:", "    x: [1, 2.50, q]", "    z: 0.80", "  4:", "    x: [3]", "    z: null", "c: {}"]
    for number, comment in enumerate(comments):
        position = data.draw(st.integers(0, len(rows)))
        if position < len(rows) and comment and "#" not in rows[position] and data.draw(st.booleans()):
            rows[position] += f"  # {number}"
        else:
            rows.insert(position, comment + str(number) * bool(comment))
    text = "\n".join(rows) + "\n"
    document = parse(text)
    assert render(document.data, document) == text
    # with the entry of 2 gone and one of 3 new, every comment is still there, once
    changed: Data = {**document.data, "b": {3: {"x": [1]}, 4: {"x": [3], "z": None}}}
    after = render(changed, document)
    assert parse(after).data == changed
    assert sorted(line.partition("#")[2] for line in after.split("\n") if "#" in line) == sorted(
        line.partition("#")[2] for line in rows if "#" in line
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (20500.0, 20500),
        (17940.1234, 17940.1),
        (0.0357512345, 0.0357512),
        (1234567.0, 1234570),
        (1e-7, 1e-7),
        (3, 3),
    ],
)
def test_rounded(value: float, written: float) -> None:
    assert repr(rounded(value)) == repr(written)


def test_a_hash_within_text_is_no_comment() -> None:
    text = "a: 'x # y'  # z\nb: x#y\n"
    document = parse(text)
    assert document.data == {"a": "x # y", "b": "x#y"}
    assert [comment.text for comment in document.comments] == ["  # z"]
    assert render(document.data, document) == text
