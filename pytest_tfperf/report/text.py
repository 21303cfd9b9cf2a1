"""Views as lines of text for a terminal, a log or a JUnit file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.rows import Row
from pytest_tfperf.report.view import ArmView
from pytest_tfperf.units import first_of

Styled = tuple[str, Verdict | None]
"""A line and the verdict that may colour it."""

STYLES: Mapping[Verdict, tuple[str, ...]] = {
    Verdict.REGRESSED: ("bold", "red"),
    Verdict.IMPROVED: ("bold", "green"),
    Verdict.UNCHANGED: ("green",),
    Verdict.INCONCLUSIVE: ("yellow",),
    Verdict.NO_BASELINE: ("yellow",),
    Verdict.INCOMPARABLE: ("yellow",),
}
"""How a terminal shows it, in the words of pytest's own writer."""

_HEADER = Row("", "", "baseline", "now", "change", "", "", None)


def failure_lines(view: ArmView) -> Iterator[Styled]:
    """The table of one arm with what there is to say about it."""
    yield f"{view.title}   {str(view.verdict).upper()}", view.verdict
    yield from _table(view.rows, view.before)
    yield from ((note, None) for note in view.notes)
    yield from ((f"  {detail}", None) for detail in view.details)
    yield view.legend, None
    yield view.footer, None


def failure_text(view: ArmView) -> str:
    return "\n".join(line for line, _ in failure_lines(view))


def _table(rows: Sequence[Row], before: str) -> Iterator[Styled]:
    compared = any(row.baseline for row in rows)
    table = [replace(_HEADER, baseline=before), *rows] if compared else list(rows)
    cells = [(row.label, row.unit, row.baseline, row.now, row.change, row.interval, row.verdict) for row in table]
    widths = [max(len(row[column]) for row in cells) for column in range(7)]
    for row, cell in zip(table, cells):
        texts = [
            text.ljust(width) if column in (0, 1, 6) else text.rjust(width)
            for column, (text, width) in enumerate(zip(cell, widths))
            if width
        ]
        yield ("  " + "  ".join(texts)).rstrip(), row.severity


def summary_lines(views: Sequence[ArmView], *, details: bool = False) -> Iterator[Styled]:
    """One line an arm: what, how fast, how efficient, and the verdict, and whatever casts doubt on them.

    `details` adds what else is known of the arm.
    """
    names = [view.title for view in views]
    width = max(map(len, names), default=0)
    for view in views:
        last = [f"{row.label} {row.now}" + (f" ({row.change})" if row.change else "") for row in view.rows]
        yield f"{view.title.ljust(width)}  {str(view.verdict).ljust(12)}  {'  '.join(last)}", view.verdict
        yield from ((f"    {finding}", None) for finding in view.findings)
        if details:
            yield from ((f"    {detail}", None) for detail in view.details)


def tally(found: Iterable[object]) -> str:
    """Count what is the same: ``3 unchanged, 1 inconclusive``, in the order of verdicts, then of other texts."""
    counts = Counter(map(str, found))
    order = [str(verdict) for verdict in Verdict]
    known = [name for name in order if name in counts]
    return ", ".join(f"{counts[name]} {name}" for name in (*known, *(name for name in counts if name not in order)))


def not_run(names: Sequence[str]) -> str:
    """Name the first of the tests that came to no end."""
    return f"not run, or not to the end: {first_of(names)}"


def unchecked(names: Sequence[str]) -> str:
    """Name the first of the tests that passed with a verdict that `check` fails."""
    return f"passed, though tfperf.check() would have failed: {first_of(names)}; does the test call it?"
