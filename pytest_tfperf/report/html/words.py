"""How verdicts and outcomes look: a symbol beside the word, as colour alone tells not everybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_tfperf.report.document import Case
from pytest_tfperf.report.ranking import place

SYMBOLS = {
    "regressed": "▼",
    "failed": "✕",
    "error": "✕",
    "inconclusive": "?",
    "incomparable": "≠",
    "no_baseline": "○",
    "not run": "·",
    "skipped": "–",
    "improved": "▲",
    "unchanged": "=",
    "passed": "✓",
}
_DOUBTFUL = ("regressed", "inconclusive", "incomparable")


@dataclass(frozen=True)
class Word:
    """A verdict or an outcome."""

    text: str
    count: int = 1

    @property
    def symbol(self) -> str:
        return SYMBOLS.get(self.text, "")

    @property
    def style(self) -> str:
        """Its class in the style sheet."""
        return self.text.replace(" ", "_") if self.text in SYMBOLS else ""


def is_well(case: Case) -> bool:
    """Whether nobody need look at it: it passed, or did not run, and nothing that was measured is in doubt."""
    return case.outcome not in ("failed", "error") and case.word not in _DOUBTFUL


def counted(words: Iterable[str]) -> tuple[Word, ...]:
    """Each word with its count, what needs a look first."""
    counts = Counter(words)
    return tuple(Word(word, counts[word]) for word in sorted(counts, key=place))
