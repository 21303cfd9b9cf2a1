"""Plain data to YAML text, keeping the comments of the previous text and the spelling of values that did not change."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from pytest_tfperf.baseline.codec import Data, Document, FileProblem, Path, Value


def render(data: Data, previous: Document | None = None, header: str = "") -> str:
    """Write block mappings and one-line lists, with the comments and spellings of the previous document.

    A comment whose key is gone moves above the nearest key around it; none is lost.
    """
    rows = list(_rows(data, (), previous.spelling if previous else {}))
    index = {path: number for number, (paths, _) in enumerate(rows) for path in paths}
    lines = [line for _, line in rows]
    above: dict[int, list[str]] = {0: [header] if header else []}
    below: dict[int, list[str]] = {}
    end: list[str] = []
    beside: set[int] = set()
    for comment in previous.comments if previous else ():
        place, path = comment.place, comment.path
        while path not in index and path:
            path, place = path[:-1], "above"
        number = index.get(path, 0)
        if comment.place == "end":
            end.append(comment.text)
        elif place == "beside" and number not in beside:
            beside.add(number)
            lines[number] += comment.text
        elif place == "below":
            below.setdefault(number, []).append(comment.text)
        elif comment.text.strip() or path == comment.path:
            text = comment.text
            if place != "above" or path != comment.path:
                line = rows[number][1]
                text = " " * (len(line) - len(line.lstrip())) + text.strip()
            above.setdefault(number, []).append(text)
    written: list[str] = []
    for number, line in enumerate(lines):
        written += [*above.get(number, ()), line, *below.get(number, ())]
    return "\n".join([*written, *end]) + "\n"


def _rows(data: Data, path: Path, spelling: Mapping[Path, tuple[Value, str]]) -> Iterator[tuple[list[Path], str]]:
    indent = "  " * len(path)
    for key, value in data.items():
        here = (*path, key)
        name = f"{indent}{_spell(key)}:"
        if isinstance(value, dict) and value:
            yield [here], name
            yield from _rows(value, here, spelling)
        elif isinstance(value, dict):
            yield [here], f"{name} {{}}"
        elif isinstance(value, list):
            items = [(*here, position) for position in range(len(value))]
            # text in a list is spelled anew: what is plain text elsewhere may hold a comma
            words = [
                _spell(item) if isinstance(item, str) else _respell(item, spelling.get(place))
                for place, item in zip(items, value, strict=True)
            ]
            yield [here, *items], f"{name} [{', '.join(words)}]"
        else:
            yield [here], f"{name} {_respell(value, spelling.get(here))}"


def _respell(value: Value, before: tuple[Value, str] | None) -> str:
    if before is not None and type(before[0]) is type(value) and before[0] == value:
        return before[1]
    return _spell(value)


# Plain text that no YAML reader takes for anything else, in a list or outside one.
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./@()+-]|:(?=[A-Za-z0-9_:])|(?<!:) (?=[A-Za-z0-9_(/]))*(?<!:)", re.ASCII)
_RESERVED = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def _spell(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FileProblem(f"{value} is not a finite number")
        text = repr(value)
        # YAML 1.1 readers take 1e-05 for text, as it has no point
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if not isinstance(value, str):
        raise FileProblem(f"{type(value).__name__} cannot be written as one value")
    if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return _escaped(value)


def _escaped(text: str) -> str:
    writer = YAML()
    writer.width = 10**9  # one line, whatever the length
    stream = io.StringIO()
    writer.dump([DoubleQuotedScalarString(text)], stream)
    return stream.getvalue().strip().removeprefix("- ")
