"""Lines for a terminal, a log or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence

from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.text import Styled

_COLOURS = {
    Verdict.REGRESSED: "1;31",
    Verdict.IMPROVED: "1;32",
    Verdict.UNCHANGED: "32",
    Verdict.INCONCLUSIVE: "33",
    Verdict.NO_BASELINE: "33",
    Verdict.INCOMPARABLE: "33",
}
"""ANSI's select graphic rendition; the colours of pytest's summary."""


def write(lines: Iterable[Styled]) -> None:
    """Print to stdout, in colour where that is a terminal that has not been told otherwise (NO_COLOR)."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line, verdict in lines:
        print(f"\x1b[{_COLOURS[verdict]}m{line}\x1b[0m" if coloured and verdict else line)


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
