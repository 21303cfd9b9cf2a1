"""One section for each test: what was measured, what was decided, and what its tasks printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.html.charts import charts
from pytest_tfperf.report.html.figure import Chart
from pytest_tfperf.report.html.rows import VerdictRow
from pytest_tfperf.report.html.words import Word, counted, is_well
from pytest_tfperf.report.measured import MeasuredSweep
from pytest_tfperf.report.plain import plain
from pytest_tfperf.report.text import Styled, failure_lines


@dataclass(frozen=True)
class Told:
    """A case with its text."""

    row: VerdictRow
    lines: tuple[Styled, ...]
    """Of its text; a line of the verdict's table has the verdict that colours it."""

    @property
    def is_well(self) -> bool:
        return is_well(self.row.case)


@dataclass(frozen=True)
class Log:
    """The end of what a task printed."""

    arm: str
    task: str
    text: str


@dataclass(frozen=True)
class Section:
    """A test with all its replica counts."""

    anchor: str
    test: str
    sweep: MeasuredSweep | None
    """None where nothing was measured."""
    told: tuple[Told, ...]
    words: tuple[Word, ...]
    is_well: bool
    charts: tuple[Chart, ...]
    errors: tuple[tuple[str, str], ...]
    """By arm, why there are no more runs, where no case says it."""
    logs: tuple[Log, ...]

    @property
    def headlines(self) -> tuple[str, ...]:
        """Each reason why it needs a look once."""
        found = [told.row.case.headline for told in self.told if not told.is_well]
        return tuple(dict.fromkeys(filter(None, found)))


def sections(report: SessionReport, rows: Sequence[VerdictRow]) -> list[Section]:
    """A section for each test, those that need a look first."""
    by_test: dict[str, list[VerdictRow]] = {}
    for row in rows:
        by_test.setdefault(row.case.test, []).append(row)
    made = [
        _section(f"test-{number}", test, report.sweep_of(members[0].case), members)
        for number, (test, members) in enumerate(by_test.items(), 1)
    ]
    return sorted(made, key=lambda section: section.is_well)


def _section(anchor: str, test: str, sweep: MeasuredSweep | None, rows: Sequence[VerdictRow]) -> Section:
    cases = [row.case for row in rows]
    return Section(
        anchor=anchor,
        test=test,
        sweep=sweep,
        told=tuple(Told(row, lines_of(row)) for row in rows),
        words=counted(case.word for case in cases),
        is_well=all(is_well(case) for case in cases) and not (sweep and any(arm.error for arm in sweep.arms)),
        charts=charts(sweep, cases) if sweep else (),
        errors=tuple(_errors(sweep, "\n".join(case.text for case in cases))) if sweep else (),
        logs=tuple(_logs(sweep)) if sweep else (),
    )


def lines_of(row: VerdictRow) -> tuple[Styled, ...]:
    """The case's text as it is; without one, what was decided. Lines of the verdict's own table keep its colours."""
    case = row.case
    view = tuple(failure_lines(case.judgement.view)) if case.judgement else ()
    text = plain(case.text).strip("\n")
    if not text or text == "\n".join(line for line, _ in view):
        return view
    return tuple((line, None) for line in text.split("\n"))


def _errors(sweep: MeasuredSweep, told: str) -> list[tuple[str, str]]:
    return [(arm.label, plain(arm.error)) for arm in sweep.arms if arm.error and arm.error not in told]


def _logs(sweep: MeasuredSweep) -> list[Log]:
    logs = [Log(arm.label, task, plain(text).strip("\n")) for arm in sweep.arms for task, text in arm.logs.items()]
    return [log for log in logs if log.text.strip()]
