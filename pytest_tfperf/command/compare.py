"""`tfperf compare A B`: judges what B measured against what A holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tfperf.command.codes import FINE, REGRESSED, UNREADABLE
from pytest_tfperf.command.printing import complain, write
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.text import Styled, failure_lines, summary_lines, tally

if TYPE_CHECKING:
    from pytest_tfperf.command.judged import Judged, Matched
    from pytest_tfperf.command.program import Subparsers
    from pytest_tfperf.command.sides import Side

_DESCRIPTION = """\
Judge B against A, for every arm that both have: by the rules of a gate that looks once, after all rounds. Each of the
two is a baseline file, or a report that --tfperf-json wrote. Of a baseline B, its newest session is judged; of A, all
sessions are held against it. Exit code 1: something regressed; 3: nothing could be compared.
"""


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "compare", help="judge one baseline or report against another", description=_DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument("a", metavar="A", type=Path, help="what B is held against")
    parser.add_argument("b", metavar="B", type=Path, help="what is judged")
    parser.add_argument(
        "--tolerance",
        type=_fraction,
        metavar="FRACTION",
        help="largest relative loss that is no regression; wins over those in the files (default: theirs, else 0.03)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show the table of every arm, also where nothing changed"
    )
    parser.set_defaults(run=run)


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text}: not a fraction above 0 and below 1, such as 0.03 for 3 %")
    return value


_fraction.__name__ = "fraction"  # argparse says it of a text that is no number


def run(given: argparse.Namespace) -> int:
    from pytest_tfperf.command.judged import judge_pairs, match  # with the judge comes SciPy
    from pytest_tfperf.command.sides import read_side

    a, b = read_side(given.a), read_side(given.b)
    matched = match(a, b)
    judged = judge_pairs(matched.pairs, given.tolerance)
    write(_lines(a, b, matched, judged, given.verbose))
    verdicts = [each.view.verdict for each in judged if each.view]
    if not verdicts:
        complain("nothing could be compared")
        return UNREADABLE
    return REGRESSED if Verdict.REGRESSED in verdicts else FINE


def _lines(a: Side, b: Side, matched: Matched, judged: Sequence[Judged], verbose: bool) -> Iterator[Styled]:
    yield f"A  {a.path}: {a.text}", None
    yield f"B  {b.path}: {b.text}", None
    views = [each.view for each in judged if each.view]
    for view in views:
        if verbose or view.verdict is not Verdict.UNCHANGED:
            yield "", None
            yield from failure_lines(view)
    if views:
        yield "", None
        yield from summary_lines(views)
    yield from _listed("Not comparable", [f"{each.pair.here}: {each.why_not}" for each in judged if not each.view])
    yield from _listed("Only in A", list(map(str, matched.only_there)))
    yield from _listed("Only in B", list(map(str, matched.only_here)))
    for name, side in (("A", a), ("B", b)):
        yield from _listed(f"Without a result in {name}", [f"{test}: {why}" for test, why in side.lost.items()])
    words = [str(each.view.verdict) if each.view else str(Verdict.INCOMPARABLE) for each in judged]
    if words:
        yield "", None
        yield tally(words), None


def _listed(title: str, lines: Sequence[str]) -> Iterator[Styled]:
    if lines:
        yield "", None
        yield f"{title}:", None
        yield from ((f"  {line}", None) for line in lines)
