"""Session reports as JSON files: what a later command, another program or a person's script reads."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import msgspec

from pytest_tfperf.errors import ReportError
from pytest_tfperf.files import read_whole
from pytest_tfperf.report.document import SCHEMA_VERSION, SessionReport

MAX_BYTES = 256_000_000
"""Twenty times a report of a thousand arms; reading takes a few times as much memory."""
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Head(msgspec.Struct):
    """What tells a report from other JSON, without making objects of all that is in it."""

    schema_version: Any = None
    cases: msgspec.Raw = msgspec.Raw()


def to_json(report: SessionReport) -> bytes:
    """One object on one line; the same report gives the same bytes.

    A name that is no Unicode text, such as a file's, has its odd bytes written out: it must not cost the report.
    """
    try:
        return msgspec.json.encode(report) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(_as_text(msgspec.to_builtins(report))) + b"\n"


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_as_text(key): _as_text(each) for key, each in value.items()}
    return [_as_text(each) for each in value] if isinstance(value, (list, tuple)) else value


def read_json(path: Path) -> SessionReport:
    """Read a report from a file.

    Raises:
        ReportError: the file cannot be read, is none of ours, or is of a version that this one does not know.
    """
    try:
        data = read_whole(path, MAX_BYTES)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from error
    return from_json(data, str(path))


def from_json(data: bytes, name: str) -> SessionReport:
    """Read a report; `name` is for errors, which are as `read_json` has them."""
    head = _Head()
    data = data.removeprefix(BOM_UTF8)  # some editors and shells begin a file with it
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.ValidationError:
        pass  # JSON, and no object
    except _BROKEN as error:
        raise ReportError(f"{name}: not JSON ({error})") from error
    version = head.schema_version
    if not isinstance(version, int) or isinstance(version, bool) or not bytes(head.cases):
        raise ReportError(f"{name}: not a report of pytest-tfperf; --tfperf-json FILE writes one")
    if version != SCHEMA_VERSION:
        newer = "; a newer pytest-tfperf wrote it, so read it with that one" if version > SCHEMA_VERSION else ""
        raise ReportError(f"{name}: has schema_version {version}, this version reads {SCHEMA_VERSION}{newer}")
    try:
        return msgspec.json.decode(data, type=SessionReport)
    except _BROKEN as error:
        raise ReportError(f"{name}: not as --tfperf-json writes it: {error}") from error


def json_schema() -> str:
    """The schema of the files, as JSON Schema."""
    return json.dumps(msgspec.json.schema(SessionReport), indent=2, sort_keys=True) + "\n"
