"""A log's file: what is kept of it once it has grown past its limit."""

from __future__ import annotations

import os
import resource
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
    assert log.path.read_text() == f"[{LIMIT + 1} bytes of this log were not kept]\nwritten after it\n"
    log.close_up()
    assert log.path.read_text().count("not kept") == 1, "it is said once"


def test_where_neither_holes_nor_a_new_beginning_can_be_had_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int, length: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(logs, "_punch_hole", lambda *_: False)
    monkeypatch.setattr(os, "ftruncate", broken)
    log = Log(tmp_path / "log")
    _write(log.path, LIMIT // PIECE + 1)
    log.bound()
    log.close_up()
    assert log.size == LIMIT + PIECE


def test_a_log_that_there_is_no_room_to_copy_stays_as_it_is(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    _write(log.path, LIMIT // PIECE + 1)
    log.bound()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (PIECE // 2, limits[1]))
        log.close_up()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [log.path]
    assert log.size == LIMIT + PIECE
    assert log.tail().endswith("x" * 1000)
    log.close_up()
    assert "bytes of this log were not kept" in log.path.read_text(), "there is room again"


def _crashed(threads: int) -> list[str]:
    stacks = [f'  File "thread.py", line {line} in thread {number}' for number in range(threads) for line in range(8)]
    own = ["Current thread 0x1 (most recent call first):", '  File "model.py", line 1 in crash', "Extension modules: "]
    return [*(f"line {n}" for n in range(90)), "terminate called", "Fatal Python error: Aborted", "", *stacks, *own]


@pytest.mark.parametrize("threads", [0, 1, 3, 4, 5, 50])
def test_of_a_crash_what_came_before_is_shown_and_where_it_was(tmp_path: Path, threads: int) -> None:
    lines = _crashed(threads)
    lines[-1] += "numpy, " * 1000
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    text = logs.tail(tmp_path / "log")
    for part in ("line 89", "terminate called", "Fatal Python error: Aborted", "in crash"):
        assert part in text
    assert len(text.splitlines()) == 40
    assert len(text) <= 16_384


def test_the_end_of_long_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x" * 10_000_000 + "end")
    assert logs.tail(tmp_path / "log").endswith("xend")
    assert len(logs.tail(tmp_path / "log")) <= 16_384
    (tmp_path / "log").write_text(f"{'x' * 10_000}end\n" * 50)
    lines = logs.tail(tmp_path / "log").splitlines()
    assert lines
    assert all(line.endswith("xend") for line in lines)


def test_no_link_is_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    _write(victim, LIMIT // PIECE + 1)
    os.symlink(victim, tmp_path / "log")
    Log(tmp_path / "log").bound()
    assert _disk(victim) > LIMIT
