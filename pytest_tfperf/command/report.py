"""`tfperf report FILE.json`: a saved report as a page, as Markdown, or as pytest's terminal showed it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tfperf.command.codes import FINE, UNREADABLE
from pytest_tfperf.command.printing import complain, save, write
from pytest_tfperf.errors import ReportError
from pytest_tfperf.report.document import Case, SessionReport
from pytest_tfperf.report.json_file import read_json
from pytest_tfperf.report.targets import check_apart
from pytest_tfperf.report.text import Styled, failure_lines, summary_lines
from pytest_tfperf.units import format_seconds

if TYPE_CHECKING:
    from pytest_tfperf.command.program import Subparsers

_WIDTH = 80


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        help="make a page or Markdown from a JSON report",
        description="Make a page or Markdown from a report that --tfperf-json wrote; without an option, print its "
        "failures and its summary. It only converts: the exit code does not depend on what the report says.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE.json", type=Path)
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page that opens offline")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write Markdown")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    report = read_json(given.file)
    check_apart({"FILE.json": given.file, "--html": given.html, "--markdown": given.markdown})
    failed = False
    if given.html is not None:
        from pytest_tfperf.report.html import to_html

        failed |= not _saved(given.html, to_html(report))
    if given.markdown is not None:
        from pytest_tfperf.report.markdown import to_markdown

        failed |= not _saved(given.markdown, to_markdown(report))
    if given.html is None and given.markdown is None:
        write(_lines(report))
    return UNREADABLE if failed else FINE


def _saved(path: Path, text: str) -> bool:
    """Whether it could be written; where not, that is said, and the other one is written all the same."""
    try:
        save(path, text)
    except ReportError as error:
        complain(f"error: {error}")
        return False
    return True


def _lines(report: SessionReport) -> Iterator[Styled]:
    for case in report.cases:
        if case.outcome in ("failed", "error"):
            word = "" if case.outcome == "failed" else "ERROR "
            yield f" {word}{case.id} ".center(_WIDTH, "_"), None
            yield from _failure(case)
            yield "", None
    yield from summary_lines([case.judgement.view for case in report.cases if case.judgement])
    for case in report.cases:
        if case.judgement is None:
            reason = f": {case.headline}" if case.headline else ""
            yield f"{case.id}  {case.outcome}{reason}", None
    yield from ((finding, None) for finding in report.findings)
    yield report.tally or "no test measured anything", None
    if report.left_open:
        yield f"--tfperf-strict would fail {report.left_open}", None
    commit = f", commit {report.commit[:7]}{' with changes' if report.dirty else ''}" if report.commit else ""
    yield f"session of {report.started}{commit}, took {format_seconds(report.seconds)}", None


def _failure(case: Case) -> Iterator[Styled]:
    """The table of a verdict; whatever else a test fails for is text."""
    if case.outcome == "failed" and case.judgement is not None and case.judgement.view.title in case.text:
        yield from failure_lines(case.judgement.view)
    else:
        yield from ((line, None) for line in case.text.splitlines())
