"""Lines for a terminal, a log or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from pytest_tfperf.errors import ReportError
from pytest_tfperf.files import is_database
from pytest_tfperf.report.text import STYLES, Styled
from pytest_tfperf.reporting import write_file

_RENDITIONS = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}
"""ANSI's select graphic rendition."""


def write(lines: Iterable[Styled]) -> None:
    """Print to stdout, in colour where that is a terminal that has not been told otherwise (NO_COLOR)."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line, verdict in lines:
        if coloured and verdict:
            line = f"\x1b[{';'.join(_RENDITIONS[word] for word in STYLES[verdict])}m{line}\x1b[0m"
        print(line)


def save(path: Path, text: str) -> None:
    """Write a file that was asked for; raises ReportError where it cannot be written, or is a database."""
    if is_database(path):
        raise ReportError(f"{path}: is a database, which this would replace; name another file")
    try:
        write_file(path, text.encode())
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {error.strerror or error}") from error


def columns(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()) -> Iterator[str]:
    """A table in plain text; `right` names the columns that are flush right."""
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(len(row[number]) for row in cells) for number in range(len(header))]
    for row in cells:
        texts = [
            text.rjust(width) if name in right else text.ljust(width) for name, text, width in zip(header, row, widths)
        ]
        yield "  ".join(texts).rstrip()


def complain(text: object) -> None:
    """A line on stderr about something that the command goes on without."""
    print(f"tfperf: {text}", file=sys.stderr)
