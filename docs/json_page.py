"""The parts of docs/json.md and docs/report.schema.json that say what the code says: made from the dataclasses.

    python -m docs.json_page

writes both anew; a test says when that is due.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import sys
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import json_schema

PAGE = Path(__file__).parent / "json.md"
SCHEMA = Path(__file__).parent / "report.schema.json"
BEGIN, END = "<!-- fields: python -m docs.json_page -->", "<!-- end of fields -->"

_WORDS = {str: "string", int: "integer", float: "number", bool: "true or false", type(None): "null"}


def page() -> str:
    """docs/json.md with its table of fields as the code has it."""
    text = PAGE.read_text()
    head, tail = text.index(BEGIN) + len(BEGIN), text.index(END)
    return "\n\n".join([text[:head], *map(_table, records()), text[tail:]])


def schema() -> str:
    """The schema of the files with a description of every field."""
    made = json.loads(json_schema())
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = "Session report of pytest-tfperf"
    for record in records():
        if "description" in made["$defs"][record.__name__]:
            # Of its docstring, whose indentation some versions of msgspec and of Python keep and some do not.
            made["$defs"][record.__name__]["description"] = inspect.cleandoc(record.__doc__ or "")
        properties = made["$defs"][record.__name__]["properties"]
        for field in dataclasses.fields(record):
            if field.default_factory is not dataclasses.MISSING:
                properties[field.name].pop("default", None)  # some versions of msgspec call the factory, some do not
        for name, text in descriptions(record).items():
            properties[name]["description"] = text
    return json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@cache
def records() -> tuple[type, ...]:
    """The dataclasses of a report, each after the one that first has it."""
    found: dict[type, None] = {}

    def visit(record: type) -> None:
        if record in found:
            return
        found[record] = None
        for hint in typing.get_type_hints(record).values():
            for part in _parts(hint):
                if dataclasses.is_dataclass(part):
                    visit(typing.cast("type", part))

    visit(SessionReport)
    return tuple(found)


def descriptions(record: type) -> dict[str, str]:
    """The text after each field of a dataclass; empty where there is none."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, after in zip(node.body, [*node.body[1:], None]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            text = str(after.value.value) if is_text else ""  # type: ignore[union-attr]
            # JSON has no None.
            found[statement.target.id] = " ".join(text.split()).replace("``", "`").replace("None", "null")
    return found


def _table(record: type) -> str:
    hints, texts = typing.get_type_hints(record), descriptions(record)
    rows = [f"| `{name}` | {_type(hints[name])} | {text} |" for name, text in texts.items()]
    about = " ".join((inspect.getdoc(record) or "").split())
    return "\n".join(
        [f"### {record.__name__}", "", about, "", "| field | type | meaning |", "| --- | --- | --- |", *rows]
    )


def _type(hint: Any) -> str:
    """A type as readers of JSON call it."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if origin is typing.Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_type, parts))
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return f"array of {_type(parts[0])}"
        return f"array [{', '.join(map(_type, parts))}]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"object of {_type(parts[1])}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " or ".join(f"`{member.value}`" for member in hint)
    return f"[{hint.__name__}](#{hint.__name__.lower()})"


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in typing.get_args(hint):
        yield from _parts(part)


def main() -> int:
    PAGE.write_text(page())
    SCHEMA.write_text(schema())
    return 0


if __name__ == "__main__":
    sys.exit(main())
