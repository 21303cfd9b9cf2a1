"""Which of a session's tests a reader wants to see first."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case

ORDER = (
    *("failed", "error", "regressed", "inconclusive", "incomparable", "no_baseline"),
    *("not run", "skipped", "improved", "unchanged", "passed"),
)
"""Outcomes, and of a test that passed its verdict, as it may have asked for nothing that regressed: worst first."""
_OPEN = (Verdict.INCONCLUSIVE, Verdict.INCOMPARABLE, Verdict.NO_BASELINE)


def worst_first(cases: Iterable[Case]) -> tuple[Case, ...]:
    """In the order of `ORDER`; those that failed, and those that regressed, by the largest loss first."""
    return tuple(sorted(cases, key=lambda case: (place(_word(case)), -loss(case))))


def place(word: str) -> int:
    """That of an outcome or a verdict in `ORDER`; of any other word the last."""
    return ORDER.index(word) if word in ORDER else len(ORDER)


def loss(case: Case) -> float:
    """The largest relative loss among what regressed or missed its floor; 0 where nothing did."""
    if case.judgement is None:
        return 0.0
    ratios = [metric.change.value for metric in case.judgement.metrics if metric.verdict is Verdict.REGRESSED]
    ratios += [floor.now.value / floor.floor for floor in case.judgement.floors if floor.verdict is Verdict.REGRESSED]
    return max((1 - ratio for ratio in ratios), default=0.0)


def status(case: Case) -> str:
    """A word or two: the verdict, and the outcome where the verdict does not explain it."""
    if case.outcome == "passed" or (case.outcome == "failed" and case.word == Verdict.REGRESSED.value):
        return case.word
    return case.outcome if case.judgement is None else f"{case.outcome}, {case.word}"


def is_open(case: Case) -> bool:
    """Whether it was measured and nothing was decided."""
    return case.judgement is not None and case.judgement.verdict in _OPEN


def _word(case: Case) -> str:
    return case.word if case.outcome == "passed" else case.outcome
