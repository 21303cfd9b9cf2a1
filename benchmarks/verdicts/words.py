"""Numbers as the page writes them."""

from __future__ import annotations

from math import isnan


def percent(share: float) -> str:
    """`0.05 %`, `3.2 %`, `48 %`; `-` where there is none."""
    if isnan(share):
        return "-"
    value = 100 * share
    digits = 0 if value >= 99.95 or value == 0 else 2 if value < 0.995 else 1 if value < 9.95 or value > 95 else 0
    return f"{value:.{digits}f} %"


def count(number: int) -> str:
    """`20,000`."""
    return f"{number:,}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
