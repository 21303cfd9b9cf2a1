"""A baseline file's bytes to its checked content, parsed again only where the file has changed."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_tfperf.baseline.codec import Comment, Document, FileProblem, parse
from pytest_tfperf.baseline.migrations import migrate
from pytest_tfperf.baseline.plain import read_plain
from pytest_tfperf.baseline.schema import SCHEMA_VERSION, BaselineFile
from pytest_tfperf.baseline.validation import validate
from pytest_tfperf.baseline.writer import render
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.records.environment import Environment

HEADER = "# Written by pytest --tfperf-save. For people to edit: efficiency_floor, tolerance and comments."
MAX_BYTES = 4_000_000

_REPAIR = "Repair the file, or restore it with git, or delete it and save it anew with --tfperf-save."
_SETTLED_NS = 100_000_000
"""A file that is younger may change once more at the same time: some kernels count that in ticks of 10 ms."""


@dataclass(frozen=True)
class Content:
    """All that a file holds."""

    text: str
    document: Document
    file: BaselineFile


@dataclass(frozen=True)
class _State:
    """What tells one content of a file from another without reading it; the time in nanoseconds since 1970."""

    inode: int
    size: int
    modified: int


class Reader:
    """Reads baseline files; every method raises BaselineError, and nothing else, for a bad one."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_State, BaselineFile]] = {}

    def file(self, path: Path) -> BaselineFile | None:
        """What there is to compare with; None where there is no file.

        A session asks for each arm of a file by itself, and for its limits before that.
        """
        known = self._known.pop(path, None)
        state = _state(path)
        if state is None:
            return None
        if known is None or known[0] != state:
            known = state, _read(path, _without_comments).file
        # The state is from before the file was read: a change in between shows at the next call.
        if time.time_ns() - state.modified > _SETTLED_NS:
            self._known[path] = known
        return known[1]

    def anywhere(self, path: Path) -> BaselineFile:
        """A file wherever it lies and whatever it is called, for instance one that git wrote from another commit."""
        if _state(path) is None:
            raise BaselineError(f"{path}: there is no such file")
        return _read(path, _without_comments, placed=False).file

    def content(self, path: Path) -> Content | None:
        """The same with text, comments and spellings, to be written again; always read anew."""
        return None if _state(path) is None else _read(path, _as_written)


def problem_error(path: Path, problem: FileProblem) -> BaselineError:
    """What to tell a person of a problem in a file."""
    where = f"{path}, line {problem.line}" if problem.line else str(path)
    return BaselineError(f"{where}: {problem.problem}. {problem.remedy or _REPAIR}")


def _state(path: Path) -> _State | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):  # opening a named pipe would wait for ever
        raise problem_error(path, FileProblem("it is not a regular file"))
    if status.st_size > MAX_BYTES:
        problem = f"it has {status.st_size} bytes, more than a baseline can have ({MAX_BYTES})"
        raise problem_error(path, FileProblem(problem))
    return _State(status.st_ino, status.st_size, status.st_mtime_ns)


def _read(path: Path, quickly: Callable[[str], Document | None], *, placed: bool = True) -> Content:
    """Read the file as `quickly` does, or else, or where that shows a problem, as the parser that knows lines does.

    `placed`: it must lie in the folder, and have the name, that its content says.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        text = _decode(content)
        with suppress(FileProblem):
            document = quickly(text)
            if document is not None:
                return _checked(path, text, document, placed)
        return _checked(path, text, migrate(parse(text)), placed)
    except FileProblem as problem:
        raise problem_error(path, problem) from problem


def _without_comments(text: str) -> Document | None:
    """Data alone, of a file of the current version in the form that `writer` gives it."""
    data = read_plain(text)
    return Document(data, {}, {}, ()) if data is not None and data.get("schema_version") == SCHEMA_VERSION else None


def _as_written(text: str) -> Document | None:
    """All of a file that nobody has edited: its only comment is the header, and each value is spelled as usual."""
    document = _without_comments(text)
    if document is None or render(document.data, None, HEADER) != text:
        return None
    return Document(document.data, {}, {}, (Comment("above", (next(iter(document.data)),), HEADER),))


def _checked(path: Path, text: str, document: Document, placed: bool) -> Content:
    """Raises FileProblem where the data is no baseline's, or another file's."""
    file = validate(document)
    folder = _folder(file)
    if not placed:
        return Content(text, document, file)
    if file.name != path.stem:
        raise FileProblem(f"it says that it is the baseline {file.name}, but its file name says {path.stem}")
    if folder != path.parent.name:
        line = document.lines.get(("environment",))
        raise FileProblem(f"its environment is that of the folder {folder}, but it lies in {path.parent.name}", line)
    return Content(text, document, file)


def _folder(file: BaselineFile) -> str:
    try:
        return Environment(file.hard, {}).name
    except KeyError as error:
        raise FileProblem(f"environment has no key {error.args[0]}") from error


def _decode(content: bytes) -> str:
    if b"\0" in content:
        raise FileProblem("it is a binary file, not text")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileProblem("it is not UTF-8 text", line) from error


def _unreadable(path: Path, error: OSError) -> BaselineError:
    return BaselineError(
        f"{path}: the baseline cannot be read: {error.strerror or error}. Make it readable, or remove it."
    )
