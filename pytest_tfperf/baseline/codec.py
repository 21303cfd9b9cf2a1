"""YAML text to plain data, with the comments and the spelling of every value, so that `writer` can keep both.

ruamel.yaml scans and composes; the data, the comments and the text are ours. Its round-trip mode hangs a comment on the
token *before* it: a comment above the entry of 4 replicas would belong to the last value of the entry of 2, and go when
that value is measured anew. Here a comment belongs to the key it stands above or beside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.tokens import (
    AliasToken,
    AnchorToken,
    BlockEndToken,
    BlockMappingStartToken,
    BlockSequenceStartToken,
    DirectiveToken,
    FlowMappingEndToken,
    FlowMappingStartToken,
    FlowSequenceEndToken,
    FlowSequenceStartToken,
    ScalarToken,
    TagToken,
)

Key: TypeAlias = "str | int"
Path: TypeAlias = "tuple[Key, ...]"
Value: TypeAlias = "dict[Key, Value] | list[Value] | str | int | float | bool | None"
Data: TypeAlias = "dict[Key, Value]"

MAX_CHARACTERS = 1_000_000
"""About a hundred times a usual file; more is no baseline, and not worth the memory of parsing it."""
MAX_DEPTH = 8
MAX_PARSED_CHARACTERS = 200_000
MAX_PARSED_SIGNS = 20_000
"""A general YAML parser takes some 50 microseconds for each sign. The form that `writer` gives a file has no such
bound: `plain` reads it a hundred times as fast."""
_SIGNS = ",:[]{}?\n"

_OPENING = (BlockMappingStartToken, BlockSequenceStartToken, FlowMappingStartToken, FlowSequenceStartToken)
_CLOSING = (BlockEndToken, FlowMappingEndToken, FlowSequenceEndToken)
_REFUSED = {
    TagToken: "a tag (!)",
    AnchorToken: "an anchor (&)",
    AliasToken: "an alias (*)",
    DirectiveToken: "a directive (%)",
}
# YAML ends a line at these too, and whoever counts lines, or looks for a comment, does not.
_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
_CONFLICT = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( |$)", re.MULTILINE)


class FileProblem(Exception):
    """What is wrong with a file's content; the store adds which file it is."""

    def __init__(self, problem: str, line: int | None = None, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        """Counted from 1; None where it is not one line's fault."""
        self.remedy = remedy
        """What to do, where it is not the usual repair."""


@dataclass(frozen=True)
class Comment:
    """A comment or blank line, and the key it belongs to."""

    place: Literal["above", "beside", "below", "end"]
    path: Path
    text: str
    """The whole line; for ``beside`` the rest of the line, spaces before the ``#`` included."""


@dataclass(frozen=True)
class Document:
    """A parsed file."""

    data: Data
    lines: Mapping[Path, int]
    """Line of each key and list item, counted from 1."""
    spelling: Mapping[Path, tuple[Value, str]]
    """Each scalar as it was written, so that a hand-written ``0.80`` stays ``0.80``."""
    comments: tuple[Comment, ...]


def check_effort(text: str) -> None:
    """Raise FileProblem for a text that `parse` would take more than about a second for."""
    signs = sum(map(text.count, _SIGNS))
    if len(text) > MAX_PARSED_CHARACTERS or signs > MAX_PARSED_SIGNS:
        raise FileProblem(
            f"with {len(text)} characters and {signs} separators it is more than can be read in another form than that "
            "of --tfperf-save",
            remedy="Restore it with git, or take comments and edits out until it is as --tfperf-save writes it.",
        )


def parse(text: str) -> Document:
    """Read one YAML mapping of mappings, scalars and lists of scalars; raises FileProblem, and nothing else."""
    if not text.strip():
        raise FileProblem("the file is empty")
    if len(text) > MAX_CHARACTERS:
        raise FileProblem(f"the file has {len(text)} characters, more than {MAX_CHARACTERS}")
    conflict = _CONFLICT.search(text)
    if conflict:
        line = text.count("\n", 0, conflict.start()) + 1
        raise FileProblem(
            "there is a merge-conflict marker", line, "Resolve the merge: keep one side's file and save again."
        )
    if odd := _LINE_ENDS.search(text):
        raise FileProblem(f"there is a line end {odd[0]!r}", text.count("\n", 0, odd.start()) + 1)
    check_effort(text)
    try:
        ends = _scan(text)
        root = YAML(typ="safe", pure=True).compose(text)
    except FileProblem:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FileProblem(f"it is not valid YAML: {error.problem}", mark.line + 1 if mark else None) from error
    except Exception as error:  # broken input makes ruamel.yaml raise a dozen kinds, its own and Python's
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise FileProblem(f"it is not valid YAML: {reason}") from error
    if not isinstance(root, MappingNode):
        raise FileProblem("it does not hold a mapping of keys to values")
    walk = _Walk(text)
    data = walk.mapping(root, ())
    comments = _comments(text.split("\n"), ends, walk.starts)
    return Document(data, {path: line + 1 for path, line, _ in walk.starts}, walk.spelling, tuple(comments))


def _scan(text: str) -> dict[int, int]:
    """Column at which the last token of each line ends; refuses YAML that a baseline has no use for."""
    ends: dict[int, int] = {}
    depth = 0
    for token in YAML(typ="safe", pure=True).scan(text):
        line = token.start_mark.line
        for kind, what in _REFUSED.items():
            if isinstance(token, kind):
                raise FileProblem(f"{what} is not allowed here", line + 1)
        if isinstance(token, ScalarToken) and token.style in ("|", ">"):
            raise FileProblem("a text block (| or >) is not allowed here", line + 1)
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > MAX_DEPTH:
            raise FileProblem("it is nested too deeply", line + 1)
        if token.start_mark.index < token.end_mark.index:
            last = token.end_mark.line
            for covered in range(line, last):
                ends[covered] = -1
            if ends.get(last) != -1:
                ends[last] = max(ends.get(last, 0), token.end_mark.column)
    return ends


class _Walk:
    """Turns composed nodes into data, noting where each key and item starts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.starts: list[tuple[Path, int, int]] = []
        """Path, line and column, both counted from 0, in the order of the file."""
        self.spelling: dict[Path, tuple[Value, str]] = {}

    def mapping(self, node: MappingNode, path: Path) -> Data:
        data: Data = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line
            key = _scalar(key_node) if isinstance(key_node, ScalarNode) else None
            if isinstance(key, bool) or not isinstance(key, (str, int)):
                raise FileProblem("a key must be a word or a whole number", line + 1)
            if key in data:
                raise FileProblem(f"the key {key} is there twice", line + 1)
            self.starts.append(((*path, key), line, key_node.start_mark.column))
            data[key] = self._value(value_node, (*path, key))
        return data

    def _value(self, node: Node, path: Path) -> Value:
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            items: list[Value] = []
            for position, item in enumerate(node.value):
                if not isinstance(item, ScalarNode):
                    raise FileProblem("a list may only hold single values", item.start_mark.line + 1)
                self.starts.append(((*path, position), item.start_mark.line, item.start_mark.column))
                items.append(self._value(item, (*path, position)))
            return items
        if not isinstance(node, ScalarNode):  # aliases were refused, so there is no other kind
            raise FileProblem("it is not valid YAML", node.start_mark.line + 1)
        value = _scalar(node)
        written = self._text[node.start_mark.index : node.end_mark.index]
        if written and "\n" not in written:
            self.spelling[path] = (value, written)
        return value


def _scalar(node: ScalarNode) -> str | int | float | bool | None:
    kind = str(node.tag).rpartition(":")[2]
    text = str(node.value)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind not in ("int", "float"):
        return text  # dates and anything else that looks special are just text here
    try:
        if len(text) > 40:
            raise ValueError
        if kind == "int":
            return int(text)
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FileProblem(f"{text[:40]} is not a finite decimal number", node.start_mark.line + 1)
    return number


def _comments(rows: list[str], ends: Mapping[int, int], starts: list[tuple[Path, int, int]]) -> Iterator[Comment]:
    first_on: dict[int, tuple[Path, int]] = {}
    for path, line, column in starts:
        first_on.setdefault(line, (path, column))
    previous: Path = ()
    waiting: list[str] = []
    if rows and rows[-1] == "":
        rows = rows[:-1]
    for number, row in enumerate(rows):
        if number not in ends:
            waiting.append(row)
            continue
        if number in first_on:
            path, column = first_on[number]
            yield from _between(waiting, previous, path, column)
            waiting = []
            previous = path
        # -1: a text over several lines goes on here, so nothing on this line is a comment
        rest = row[ends[number] :] if ends[number] >= 0 else ""
        if rest.strip().startswith("#"):
            yield Comment("beside", previous, rest)
    yield from _between(waiting, previous, None, 0)


def _between(rows: list[str], previous: Path, following: Path | None, column: int) -> Iterator[Comment]:
    """Comments between two keys: what is indented deeper than the next key belongs to the one before."""
    split = 0
    for position, row in enumerate(rows):
        if previous and row.strip() and len(row) - len(row.lstrip()) > column:
            split = position + 1
    for row in rows[:split]:
        yield Comment("below", previous, row)
    for row in rows[split:]:
        yield Comment("end", (), row) if following is None else Comment("above", following, row)
