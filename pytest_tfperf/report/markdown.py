"""A session as Markdown, for a job's summary, a comment or a file."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case, Judgement, SessionReport
from pytest_tfperf.report.markup import block, code, html_line, inline, shortened
from pytest_tfperf.report.ranking import is_open, status, worst_first
from pytest_tfperf.report.rows import Row
from pytest_tfperf.report.text import failure_text, tally
from pytest_tfperf.units import format_bytes, format_seconds, plural

_CAPS = (None, 30_000, 8_000, 2_500)
"""Characters of each failure's text: as many as let all of them in."""
_MOST_RERUN = 10
"""Tests that one command names."""
_NOTE = 600
"""Bytes that saying what was left out may take."""
_SIGNS = {
    Verdict.REGRESSED: "🔴",
    Verdict.INCONCLUSIVE: "🟡",
    Verdict.NO_BASELINE: "🟡",
    Verdict.INCOMPARABLE: "🟡",
    Verdict.IMPROVED: "🟢",
    Verdict.UNCHANGED: "🟢",
}
_KEEP, _FAILED_ROW, _FAILED_TEXT, _WHY, _UNMEASURED, _OPEN_ROW, _GOOD_ROW = range(7)
"""What stays longest where there is not room for everything."""


@dataclass(frozen=True)
class _Piece:
    """Lines that stay or go together."""

    text: str
    rank: int
    what: str = ""
    """What it is one of, for saying that it was left out."""


def to_markdown(report: SessionReport, limit: int | None = None) -> str:
    """The report as one text in the Markdown of GitHub and GitLab.

    With a limit, in bytes of UTF-8, long texts of failures are cut, then whole parts are left out: first what passed,
    and what failed last. The end says what is missing.
    """
    if limit is None:
        return _joined(_pieces(report, None))
    for cap in _CAPS:
        pieces = list(_pieces(report, cap))
        if _size(piece for piece in pieces if piece.rank <= _FAILED_TEXT) <= limit:
            break
    return _joined(_fitting(pieces, limit))


def _fitting(pieces: list[_Piece], limit: int) -> list[_Piece]:
    """Without what has no room: the least important goes first, and of that the last."""
    size = _size(pieces)
    if size <= limit:
        return pieces
    left_out: Counter[str] = Counter()
    kept = dict(enumerate(pieces))
    for index, piece in sorted(enumerate(pieces), key=lambda pair: (-pair[1].rank, -pair[0])):
        if size + _NOTE <= limit or piece.rank == _KEEP:
            break
        del kept[index]
        size -= _size([piece])
        left_out[piece.what] += 1
    what = ", ".join(plural(count, name) for name, count in left_out.items() if name)
    note = f"\n**Shortened to {format_bytes(limit)}.** Left out: {what}. `--tfperf-markdown FILE` writes all of it."
    return [*kept.values(), _Piece(note, _KEEP)]


def _size(pieces: Iterable[_Piece]) -> int:
    return sum(len(piece.text.encode()) + 1 for piece in pieces)


def _joined(pieces: Iterable[_Piece]) -> str:
    return "\n".join(piece.text for piece in pieces) + "\n"


def _pieces(report: SessionReport, cap: int | None) -> Iterator[_Piece]:
    yield _Piece("\n".join(_head(report)), _KEEP)
    ranked = worst_first(report.cases)
    yield from _verdicts(report, ranked)
    yield from _failures(ranked, cap)
    yield from _section("Beside what passed", list(_remarks(ranked)), "remark", _WHY)
    yield from _section("What changed in the environment", _changes(report), "environment change", _WHY)
    yield from _section("Suspects", [f"- {inline(text)}" for text in report.findings], "finding", _WHY)
    yield from _rerun(report, ranked)
    yield from _section("Not measured", _unmeasured(ranked), "skip reason", _UNMEASURED)
    yield from _section("Saved", [f"- {code(text)}" for text in report.saved], "saved baseline", _GOOD_ROW)


def _head(report: SessionReport) -> Iterator[str]:
    yield f"## Training speed: {inline(report.tally) or 'nothing was selected'}"
    yield ""
    when = report.started.replace("T", " ").removesuffix("Z") + " UTC"
    which = f", commit {code(report.commit[:12])}" if report.commit else ""
    which += " with uncommitted changes" if report.dirty else ""
    which += f", against {code(report.against)} in the same rounds" if report.against else ""
    outcomes = tally(case.outcome for case in worst_first(report.cases))
    yield f"**{inline(outcomes) or 'no test'}** in {inline(format_seconds(report.seconds))}, {inline(when)}{which}."
    for device, place in report.places.items():
        known = {**place.hard, **{key: place.soft[key] for key in ("tensorflow", "cuda", "nccl") if key in place.soft}}
        facts = ", ".join(f"{inline(key)} {inline(str(value))}" for key, value in known.items())
        yield f"On {inline(device)}: {code(place.name)} ({facts})."
    if report.settings.smoke:
        yield f"Nothing was judged: {inline(report.settings.smoke)}."
    if report.left_open:
        yield f"`--tfperf-strict` would fail {inline(report.left_open)}."
    yield ""


def _verdicts(report: SessionReport, ranked: tuple[Case, ...]) -> Iterator[_Piece]:
    shown = [case for case in ranked if case.judgement is not None or case.outcome in ("failed", "error")]
    if not shown:
        return
    with_speedup = any(case.judgement and case.judgement.speedup for case in shown)
    columns = ["T(1), examples/s", "T(N), examples/s", "E(N)", *(["S(N)"] if with_speedup else [])]
    yield _Piece(
        f"| verdict | test | {' | '.join(columns)} |\n| :-- | :-- |{' --: |' * len(columns)}",
        _KEEP,
    )
    for case in shown:
        cells = _figures(case.judgement)[: len(columns)]
        row = f"| {_sign(case)} {inline(status(case))} | {code(case.id)} | {' | '.join(cells)} |"
        if case.outcome != "passed":
            yield _Piece(row, _FAILED_ROW, "failed row")
        elif is_open(case):
            yield _Piece(row, _OPEN_ROW, "undecided row")
        else:
            yield _Piece(row, _GOOD_ROW, "passed row")
    before = code(report.against) if report.against else "the baseline"
    yield _Piece(f"\nIn brackets: the change since {before}.", _KEEP)


def _figures(judgement: Judgement | None) -> list[str]:
    """T(1), T(N), E(N) and S(N), as far as there are such."""
    cells = ["", "", "", ""]
    if judgement is None:
        return cells
    for index, row in enumerate(judgement.view.rows):
        # After T(1) and T(N) comes what they have in common, if anything: the failure's own table has it.
        column = {"E": 2, "S": 3}.get(row.label[:1], index)
        if column > 1 and row.label[:1] == "T":
            continue
        text = inline(row.now + (f" ({row.change})" if row.change else ""))
        cells[column] = f"**{text}**" if row.severity is Verdict.REGRESSED else text
    if len(judgement.view.rows) == 1:  # its own reference
        cells[1] = cells[0]
    return cells


def _sign(case: Case) -> str:
    if case.outcome in ("failed", "error"):
        return "🔴"
    return _SIGNS[case.judgement.verdict] if case.judgement else "⚪"


def _failures(ranked: tuple[Case, ...], cap: int | None) -> Iterator[_Piece]:
    failed = [case for case in ranked if case.outcome in ("failed", "error")]
    if failed:
        yield _Piece("\n### What failed\n", _FAILED_TEXT)
    for case in failed:
        text = case_text(case)
        about = f"{html_line(status(case))}: <code>{html_line(case.id)}</code> {html_line(_told(case))}"
        yield _Piece(
            f"<details{' open' if len(failed) == 1 else ''}><summary>{about}</summary>\n\n"
            f"{block(text if cap is None else shortened(text, cap))}\n\n</details>\n",
            _FAILED_TEXT,
            "failure text",
        )


def case_text(case: Case) -> str:
    """Why a test failed, with the table of what was measured, which a failing assertion of its own does not have."""
    if case.judgement is None or case.judgement.view.title in case.text:
        return case.text
    return f"{case.text}\n\n{failure_text(case.judgement.view)}".strip()


def _told(case: Case) -> str:
    """What the line of a failure says without being opened."""
    if case.judgement is None or case.outcome != "failed":
        return case.headline[:300]
    moved = [f"{row.label} {row.change or row.now}" for row in _bad(case.judgement)]
    return ", ".join(moved) or case.reason[:300]


def _bad(judgement: Judgement) -> list[Row]:
    return [row for row in judgement.view.rows if row.severity is Verdict.REGRESSED]


def _changes(report: SessionReport) -> list[str]:
    return [
        f"- {code(key)}: {code(old) if old else 'not set'} -> {code(new) if new else 'not set'}, "
        f"under {plural(len(cases), 'arm')}"
        for (key, old, new), cases in report.changes().items()
    ]


def _rerun(report: SessionReport, ranked: tuple[Case, ...]) -> Iterator[_Piece]:
    ids = [case.id for case in ranked if case.outcome in ("failed", "error")]
    if not ids:
        return
    more = f" The command has the worst {_MOST_RERUN} of {len(ids)}." if len(ids) > _MOST_RERUN else ""
    parts = [*(shlex.quote(id) for id in ids[:_MOST_RERUN]), f"--tfperf-rounds {2 * report.settings.rounds}"]
    parts += [f"--tfperf-against {shlex.quote(report.against)}"] if report.against else []
    parts += [report.settings.rerun_options] if report.settings.rerun_options else []
    command = block("pytest " + " \\\n  ".join(parts))
    text = f"\n### Again\n\nOn the same machine, in the same folder, with twice the rounds.{more}\n\n{command}"
    yield _Piece(text, _WHY, "command")


def _remarks(ranked: tuple[Case, ...]) -> Iterator[str]:
    """What casts doubt on tests that passed; of one that failed, its text has it."""
    for case in ranked:
        if case.outcome == "passed" and case.judgement is not None:
            yield from (f"- {code(case.id)}: {inline(text)}" for text in case.judgement.view.findings)


def _unmeasured(ranked: tuple[Case, ...]) -> list[str]:
    """Skipped tests and those whose turn did not come, by reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in ranked:
        if case.outcome in ("skipped", "not run"):
            reason = case.text or "the session ended before or in their turn"
            found.setdefault((case.outcome, reason), []).append(case.id)
    return [
        f"- {len(ids)} {outcome}, {inline(reason)}: {', '.join(code(id) for id in ids[:3])}"
        + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        for (outcome, reason), ids in found.items()
    ]


def _section(title: str, lines: list[str], what: str, rank: int) -> Iterator[_Piece]:
    if lines:
        yield _Piece(f"\n### {title}\n", rank)
        yield from (_Piece(line, rank, what) for line in lines)
