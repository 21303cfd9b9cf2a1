"""Whatever a report's file is, reading it ends soon, in one error that names the file."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.canned_report import canned_report
from pytest_tfperf.command import main
from pytest_tfperf.errors import ReportError
from pytest_tfperf.report.json_file import MAX_BYTES, from_json, read_json, to_json


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return to_json(canned_report(tmp_path_factory.mktemp("session"), 4))


def check_refused(path: Path, message: str) -> None:
    with pytest.raises(ReportError, match=message) as caught:
        read_json(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert len(text) < 600


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\0" * 100, "not JSON"),
        (b"\x89PNG\r\n", "not JSON"),
        (b"[" * 1_000_000, "not a report"),
        (b'{"a":' * 1_000_000, "not JSON"),
        (b'{"cases": ' + b"[" * 1_000_000, "not JSON|not a report"),
        (b'{"schema_version": ' + b"9" * 1_000_000 + b', "cases": []}', "not JSON|not a report"),
        (b'{"schema_version": 1e999, "cases": []}', "not JSON|not a report"),
        (b'{"schema_version": NaN, "cases": []}', "not JSON"),
        (b'{"schema_version": 1, "schema_version": 7, "cases": []}', "has schema_version 7"),
        (b'{"schema_version": 1, "cas\xff": 1, "cases": []}', "not JSON|(?i:utf-8)|missing"),
        (b'{"schema_version": 1, "cases": [], "started": "\\ud800"}', "not JSON"),
        (b'{"schema_version": 1}', "not a report"),
        (b"[1]", "not a report"),
        (b"null", "not a report"),
        (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", "not JSON"),
    ],
)
def test_broken_content(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    check_refused(path, message)


def test_a_byte_order_mark_is_no_part_of_it(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"\xef\xbb\xbf" + whole)
    assert read_json(path) == from_json(whole, "without")


def test_a_text_that_is_not_unicode(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(whole.replace(b'"cpu', b'"\xff\xfe', 1))
    assert b"\xff" in path.read_bytes()
    check_refused(path, "(?i)utf-8")


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _no_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_large, f"has more than {MAX_BYTES} bytes"),
        (os.mkdir, "is a folder"),
        (os.mkfifo, "is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
        (lambda path: path.symlink_to(path), "symbolic links"),
        (lambda path: path.symlink_to("nowhere"), "No such file"),
        (lambda path: None, "No such file"),
    ],
)
def test_what_is_no_file_to_read(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "report.json"
    make(path)
    check_refused(path, message)


@pytest.mark.parametrize("command", ["compare", "show", "report"])
@pytest.mark.parametrize("name", ["report.json", "baseline.yaml"])
def test_no_command_waits_for_a_pipe(tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    arguments = [command, str(path), *([str(path)] if command == "compare" else [])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest_tfperf", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 3
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bomb_needs_no_more_memory_than_its_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b'{"schema_version": 1, "cases": [' + b"[]," * 30_000_000 + b"[]]}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest_tfperf", "report", str(path)],
        capture_output=True, text=True, timeout=120, check=False, preexec_fn=_no_memory,
    )  # fmt: skip
    assert done.returncode == 3
    assert "report.json: " in done.stderr
    assert "Traceback" not in done.stderr


NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.just(0), st.just(-1))
VALUES = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=8), st.just([]), st.just({}))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_to_a_report_gives_a_report_or_an_error(tmp_path: Path, whole: bytes, data: st.DataObject) -> None:
    """And what is read, every command shows or refuses."""
    report = json.loads(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        _change(report, data)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(report))
    original = tmp_path / "original.json"
    original.write_bytes(whole)
    for arguments in (
        ["report", str(path)],
        ["report", str(path), "--markdown", str(tmp_path / "page.md")],
        ["compare", str(path), str(original)],
        ["compare", str(original), str(path)],
        ["show", str(path)],
    ):
        assert main(arguments) in (0, 1, 2, 3)


def _change(node: object, data: st.DataObject) -> None:
    """Walk down at random, and replace or remove what is there."""
    while isinstance(node, (dict, list)) and node:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        child = node[key]
        if not isinstance(child, (dict, list)) or not child or data.draw(st.integers(0, 9)) == 0:
            if data.draw(st.booleans()):
                node[key] = data.draw(VALUES)
            else:
                del node[key]
            return
        node = child


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80))
def test_no_bytes_raise_another_kind_of_error(data: bytes) -> None:
    with suppress(ReportError):
        from_json(data, "night.json")
