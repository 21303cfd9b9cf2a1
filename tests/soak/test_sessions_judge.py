"""The judge of sessions in a row on records that were made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tools.soak.sessions import KEPT, SAVES_EVERY, Record, judged

COUNT = 50


def record(index: int) -> Record:
    """A session that leaves what it should: the baseline holds some sessions at most, the history grows evenly."""
    saved = min(KEPT, 1 + index // SAVES_EVERY)
    return Record(
        index,
        seconds=20.0 + index % 3,
        control=0.05,
        counts={"files in TMPDIR": 0, "sessions in the baseline": saved},
        kilobytes={"the baseline": 1.0 + 0.5 * saved},
        rows={"tfperf_sessions": index + 1, "tfperf_runs": 2 * index + 2 + index % 2},
    )


def grown(change: Callable[[Record], Record]) -> list[str]:
    return [one.name for one in judged([change(record(index)) for index in range(COUNT)]) if one.answer != "flat"]


def test_nothing_grows() -> None:
    assert grown(lambda one: one) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda one: replace(one, counts={**one.counts, "files in TMPDIR": one.index // 10}), "files in TMPDIR"),
        (
            lambda one: replace(one, counts={**one.counts, "sessions in the baseline": 1 + one.index // SAVES_EVERY}),
            "sessions in the baseline",
        ),
        (lambda one: replace(one, kilobytes={"the baseline": 1.0 + one.index}), "KiB of the baseline"),
        (lambda one: replace(one, rows={**one.rows, "tfperf_sessions": one.index**2}), "rows of tfperf_sessions"),
        (lambda one: replace(one, rows={**one.rows, "tfperf_runs": 7}), "rows of tfperf_runs"),
        (lambda one: replace(one, seconds=20.0 * 1.05**one.index), "seconds a session"),
    ],
    ids=["a file", "sessions that are never dropped", "a baseline", "rows ever faster", "no rows", "time"],
)
def test_what_grows_is_named(change: Callable[[Record], Record], name: str) -> None:
    assert grown(change) == [name]
