"""The rows of the table of verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case, ComparedMetric, Judgement
from pytest_tfperf.report.html.words import Word
from pytest_tfperf.report.ranking import worst_first


@dataclass(frozen=True)
class Cell:
    """A figure as text, and the number that it is sorted by; no number sorts below every one."""

    text: str = ""
    order: float | None = None
    missed: bool = False
    """True where it is under its floor."""


@dataclass(frozen=True)
class VerdictRow:
    """One test at one replica count."""

    anchor: str
    case: Case
    word: Word
    outcome: Word
    rank: int
    """Its place among all, those first that need a look."""
    throughput: Cell = Cell()
    efficiency: Cell = Cell()
    change: Cell = Cell()
    step_time: Cell = Cell()


def verdict_rows(cases: Sequence[Case]) -> tuple[VerdictRow, ...]:
    """A row for each case, in the order of the session."""
    places = {case.id: place for place, case in enumerate(worst_first(cases))}
    return tuple(_row(case, f"case-{number}", places[case.id]) for number, case in enumerate(cases, 1))


def by_need(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """What needs a look first."""
    return sorted(rows, key=lambda row: row.rank)


def _row(case: Case, anchor: str, rank: int) -> VerdictRow:
    start = (anchor, case, Word(case.word), Word(case.outcome), rank)
    judgement = case.judgement
    if judgement is None:
        return VerdictRow(*start)
    return VerdictRow(
        *start,
        throughput=Cell(judgement.throughput.text, judgement.throughput.value),
        efficiency=_efficiency(judgement, case.replicas),
        change=_change(judgement),
        step_time=Cell(judgement.step_time.text, judgement.step_time.value),
    )


def _efficiency(judgement: Judgement, replicas: int) -> Cell:
    """Empty where T(N) is T(1) itself, so that E(N) says nothing."""
    label = f"E({replicas})"
    row = next((row for row in judgement.view.rows if row.label == label), None)
    missed = any(floor.label == label and floor.verdict is Verdict.REGRESSED for floor in judgement.floors)
    return Cell(row.now, judgement.efficiency.value, missed) if row else Cell()


def _change(judgement: Judgement) -> Cell:
    """The change that made the verdict: the worst, or the best, or else that of T(N); named where it is not of T(N)."""
    metrics = judgement.metrics
    if not metrics:
        return Cell()
    decisive = [metric for metric in metrics if metric.verdict is judgement.verdict and not metric.excused]
    by_kind: Mapping[str, ComparedMetric] = {metric.metric: metric for metric in metrics}
    shown = by_kind.get("throughput", metrics[0])
    if judgement.verdict is Verdict.REGRESSED and decisive:
        shown = min(decisive, key=lambda metric: metric.change.value)
    elif judgement.verdict is Verdict.IMPROVED and decisive:
        shown = max(decisive, key=lambda metric: metric.change.value)
    name = "" if shown.metric == "throughput" else f"{shown.label} "
    return Cell(name + shown.change.text, shown.change.value - 1)
