"""A log's file: what is kept of it once it has grown past its limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_tfperf.cluster import logs
from pytest_tfperf.cluster.logs import LIMIT, Log

PIECE = 1 << 20


def _write(path: Path, pieces: int, begin: int = 0) -> None:
    with path.open("ab") as file:
        for number in range(begin, begin + pieces):
            file.write(f"piece {number}\n".encode().ljust(PIECE - 1, b"x") + b"\n")


def _disk(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_the_middle_of_a_large_log_takes_no_disk(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    pieces = LIMIT // PIECE
    _write(log.path, pieces)
    log.bound()
    assert _disk(log.path) >= LIMIT, "it is within its limit"
    for round_number in range(1, 4):
        _write(log.path, pieces, round_number * pieces)
        log.bound()
        assert _disk(log.path) < 4 * PIECE
    assert log.size == 4 * LIMIT
    assert log.tail().startswith("x")
    log.close_up()
    text = log.path.read_text()
    assert text.startswith("piece 0\n")
    assert f"\n[{4 * LIMIT - 2 * PIECE} bytes of this log were not kept]\npiece {4 * pieces - 1}\n" in text
    assert list(tmp_path.iterdir()) == [log.path]
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_small_log_is_left_as_it_is(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.bound()
    assert log.size == 0
    assert log.tail() == ""
    _write(log.path, 3)
    before = log.path.read_bytes()
    log.bound()
    log.close_up()
    assert log.path.read_bytes() == before


def test_without_holes_a_large_log_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_punch_hole", lambda *_: False)
    log = Log(tmp_path / "log")
    with log.path.open("ab") as writer:
        writer.write(b"x" * (LIMIT + 1))
        writer.flush()
        log.bound()
        assert _disk(log.path) == 0
        writer.write(b"written after it\n")
    assert log.tail() == "written after it"
    log.close_up()
    assert log.path.read_text() == "written after it\n"


def test_no_link_is_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    _write(victim, LIMIT // PIECE + 1)
    os.symlink(victim, tmp_path / "log")
    Log(tmp_path / "log").bound()
    assert _disk(victim) > LIMIT
