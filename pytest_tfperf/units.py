"""Numbers as people read them. Every figure that reaches a screen is formatted here."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import floor, isfinite, log10


def format_number(value: float, digits: int = 4) -> str:
    """`digits` significant digits, thousands apart: ``17 940``, ``0.7832``; never in exponents."""
    if not isfinite(value):
        return "n/a"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    return f"{value:,.{min(decimals, 9)}f}".replace(",", " ")


def format_seconds(value: float) -> str:
    """A duration in the unit that suits it: ``44.7 ms``, ``1.3 s``, ``2 min 5 s``."""
    if not isfinite(value):
        return "n/a"
    if value >= 119.5:
        minutes, seconds = divmod(round(value), 60)
        return f"{minutes} min {seconds} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{format_number(value / factor, 3)} {unit}"
    return f"{format_number(value / 1e-9, 3)} ns"


def format_bytes(value: float) -> str:
    """A size in powers of ten, as networks count: ``43.1 MB``."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{format_number(value / factor, 3)} {unit}"
    return f"{format_number(value, 3)} B"


def format_percent(fraction: float, *, signed: bool = False, decimals: int = 1) -> str:
    """A fraction as percent: 0.125 is ``12.5 %``, signed ``+12.5 %``."""
    if not isfinite(100 * fraction):
        return "n/a"
    return f"{100 * fraction:{'+' if signed else ''}.{decimals}f} %"


def format_confidence(fraction: float) -> str:
    """A confidence near 1, with two digits of what it leaves out: ``95 %``, ``99.8 %``, ``99.967 %``."""
    left_out = 100 * (1 - fraction)
    if not 0 < left_out < 100:
        return format_percent(fraction, decimals=0)
    text = f"{100 * fraction:.{min(9, max(0, 1 - floor(log10(left_out))))}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def format_points(fraction: float) -> str:
    """A difference of two efficiencies in percentage points: -0.112 is ``-11.2 pt``."""
    if not isfinite(100 * fraction):
        return "n/a"
    return f"{100 * fraction:+.1f} pt"


def plural(count: int, noun: str) -> str:
    """``1 round``, ``5 rounds``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def first_of(names: Sequence[str], most: int = 3) -> str:
    """The first of many names in one line: ``a, b, c and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def plain_decimal(value: float, digits: int = 6) -> str:
    """A number for programs that plot it: `digits` significant digits, no unit, no exponent; empty if not finite."""
    if not isfinite(value):
        return ""
    text = f"{Decimal(f'{value:.{digits}g}'):f}"
    return "0" if float(text) == 0 else text


def slowed_by(label: str, fraction: float) -> str:
    """An arm whose steps take longer on purpose: ``T(4) by 10 %``."""
    return f"{label} by {100 * fraction:g} %"
