"""A chart and the table that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal


@dataclass(frozen=True)
class Table:
    """The data of a chart for those who do not see it; the first column heads the rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """One chart: `data` is what the script of that kind reads, with finite numbers, texts, null."""

    kind: Literal["scaling", "efficiency", "runs", "steps"]
    title: str
    summary: str
    """What a screen reader says of it."""
    data: Mapping[str, object]
    table: Table
    lines: int = 0
    """Rows of a chart whose height depends on them."""
    notes: tuple[str, ...] = ()


def rounded(value: float | None) -> float | None:
    """Five significant digits are more than a screen shows; None for what JSON has no number for."""
    return None if value is None or not isfinite(value) else float(f"{value:.5g}")
