"""`tfperf history` and `tfperf history acknowledge`: what they print, and their exit codes."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tfperf.command import main
from pytest_tfperf.history import reading
from tests.history.nights import TEST, date_of, store

STEP_AT = 20
NIGHTS = 30


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty nights, and from the 21st on T(4) is 5 % slower."""
    folder = tmp_path_factory.mktemp("history")
    store(f"sqlite:///{folder / 'perf.db'}", folder / "session", [0.0] * STEP_AT + [0.05] * (NIGHTS - STEP_AT))
    return folder / "perf.db"


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "perf.db"
    copy.write_bytes(made.read_bytes())
    return copy


def run(*arguments: str | Path) -> int:
    return main(["history", *map(str, arguments)])


def test_a_step_is_told_with_its_commits_and_versions(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--url", file) == 1
    printed = capsys.readouterr().out
    told = [line.strip() for line in printed.splitlines() if f"on {date_of(STEP_AT)}" in line]
    assert len(told) == 2  # T(4) and E(4)
    for line in told:
        assert re.match(r"-[45]\.\d %", line)
        assert f"commits {STEP_AT - 1:07x}..{STEP_AT:07x}" in line
        assert "tensorflow 2.20.0 -> 2.21.0" in line
        assert line.endswith(", worse")
    assert "2 for the worse that nobody has acknowledged" in printed
    assert f"{TEST}[4]" in printed


def test_what_is_not_asked_for_does_not_count(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--url", file, "--test", f"{TEST}[2]") == 0
    assert run("--url", file, "--last", str(NIGHTS - STEP_AT)) == 0
    printed = capsys.readouterr().out
    assert "no change point" in printed
    assert f"{TEST}[4]" in printed  # in the second of the two


def test_too_few_nights(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--url", file, "--last", "9") == 0
    assert "change points need 10 nights, there are 9" in capsys.readouterr().out


def test_an_acknowledged_change_counts_again_when_it_expires(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "the new data loader is worth it"
    monkeypatch.setattr(reading, "today", lambda: "2026-11-01")
    acknowledge = ("acknowledge", "--url", file, f"{TEST}[4]", date_of(STEP_AT), "--reason", reason)
    assert run(*acknowledge, "--days", "30", "--by", "ada") == 0
    assert "acknowledged until 2026-12-01" in capsys.readouterr().out
    for day, code, words in (
        ("2026-11-01", 0, "worse, acknowledged, until 2026-12-01"),
        ("2026-12-01", 0, "worse, acknowledged, until 2026-12-01"),
        ("2026-12-02", 1, "worse, expired on 2026-12-01"),
    ):
        monkeypatch.setattr(reading, "today", lambda day=day: day)
        assert run("--url", file) == code
        printed = capsys.readouterr().out
        assert f"{words}: {reason} (ada, " in printed
    assert run(*acknowledge, "--days", "5") == 0
    assert run("--url", file) == 0


def test_acknowledging_what_is_not_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arm, date, message in (
        (
            f"{TEST}[4]",
            date_of(3),
            f"has no change for the worse on {date_of(3)}; what got worse did so on {date_of(STEP_AT)}",
        ),
        (f"{TEST}[2]", date_of(STEP_AT), "nothing got worse there"),
        (f"{TEST}[5]", date_of(STEP_AT), f"no arm {TEST}[5] in the database; there are {TEST}[1], "),
        ("nonsense", date_of(STEP_AT), "no arm nonsense in the database"),
    ):
        assert run("acknowledge", "--url", file, arm, date, "--reason", "why not") == 2
        assert message in capsys.readouterr().err
    assert run("acknowledge", "--url", file, f"{TEST}[4]", date_of(STEP_AT), "--reason", " ") == 2
    assert "--reason is empty" in capsys.readouterr().err


def test_which_database(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    monkeypatch.delenv("TFPERF_HISTORY", raising=False)
    assert run() == 2
    assert "give --url, or set TFPERF_HISTORY; there is no perf-history.db here" in capsys.readouterr().err
    monkeypatch.setenv("TFPERF_HISTORY", str(file))
    assert run() == 1
    monkeypatch.delenv("TFPERF_HISTORY")
    (empty / "perf-history.db").write_bytes(file.read_bytes())
    assert run() == 1


def test_errors_and_their_codes(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code, message in (
        (["--url", tmp_path / "none.db"], 3, "none.db: no such file"),
        (
            ["--url", "mysql://root:secret@host/perf"],
            2,
            "mysql://root:***@host/perf: a history cannot be kept in mysql",
        ),
        (["--url", file, "--test", "no_such_test"], 2, "no arm of the last 90 nights matches 'no_such_test'"),
        (["--url", file, "--html", "/proc/page.html"], 3, "/proc/page.html: cannot be written"),
    ):
        assert run(*arguments) == code
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    for wrong in (["--last", "0"], ["--last", "many"], ["acknowledge", f"{TEST}[4]"]):
        assert run(*wrong) == 2


def test_the_page_does_not_take_a_databases_place(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = file.read_bytes()
    assert run("--url", file, "--html", file) == 2
    assert "--url and --html both name" in capsys.readouterr().err
    other = file.parent / "other.db"
    other.write_bytes(before)
    assert run("--url", file, "--html", other) == 3
    assert "other.db: is a database, which this would replace" in capsys.readouterr().err
    assert file.read_bytes() == other.read_bytes() == before


@pytest.mark.parametrize(
    ("last", "message"), [("0", "0 is not from 1 to"), ("9" * 30, "is not from 1 to"), ("x", "whole")]
)
def test_a_number_of_nights_that_is_none(
    file: Path, capsys: pytest.CaptureFixture[str], last: str, message: str
) -> None:
    assert run("--url", file, "--last", last) == 2
    assert message in capsys.readouterr().err


def test_output_that_is_no_terminal_has_no_plot_and_no_colour(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--url", file)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "▇" in printed
    assert max(map(len, printed.splitlines())) < 300


@pytest.mark.parametrize(("columns", "encoding", "plotted"), [(120, "utf-8", True), (60, "ascii", False)])
def test_a_terminal_gets_plots_where_there_is_room(file: Path, columns: int, encoding: str, plotted: bool) -> None:
    master, slave = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "LINES": "50", "PYTHONIOENCODING": encoding, "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "pytest_tfperf", "history", "--url", str(file)], stdout=slave, stderr=slave, env=env
    ) as process:
        os.close(slave)
        output = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # how Linux says that nobody has the other end open any more
                break
            if not part:
                break
            output += part
        os.close(master)
        assert process.wait() == 1, output.decode()
    text = output.decode(encoding)
    assert ("┌" in text) == plotted
    assert ("▇" in text) == plotted
    assert "\x1b[1;31m" in text
    if not plotted:
        assert "from 3 4" in text
