"""The table of an arm: a row for each figure, then and now, with what was decided of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isinf

from pytest_tfperf.records.comparison import ArmVerdict, FloorVerdict, MetricVerdict, Verdict
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.units import format_number, format_percent, format_points

_ALL_LOST, _MANY_TIMES = 0.001, 11.0
"""Ratios between which lies all that a change may be; an interval that goes beyond both says nothing."""


@dataclass(frozen=True)
class Row:
    """One figure: then, now and the difference, as text."""

    label: str
    """``T(1)``, ``T(4)``, ``E(4)``, ``S(4)``."""
    unit: str
    """Of what is beside it; empty for a ratio."""
    baseline: str
    """Empty where there is nothing to compare with."""
    now: str
    """What was measured."""
    change: str
    """In percent, or points of an efficiency."""
    interval: str
    """Of the change, in the same unit."""
    verdict: str
    """With what there is to say of it, for instance its tolerance."""
    severity: Verdict | None
    """What colours the row; null for none."""


def rows_of(verdict: ArmVerdict) -> tuple[Row, ...]:
    """The table, T(1) first; figures alone where there is nothing to compare them with."""
    if verdict.metrics:
        # What T(1) and T(N) have in common is a row only where it says more than they do.
        shown = [metric for metric in verdict.metrics if metric.comparison.metric != "common" or not metric.excused]
        compared = tuple(
            _compared(metric, _floor_of(verdict, metric.comparison.label), _shown_by(metric, shown)) for metric in shown
        )
        return (*compared, *_speedup(verdict))
    figures, arm = verdict.figures, verdict.arm
    rows = [_alone("T(1)", "examples/s", with_noise(figures.reference))]
    if not arm.is_reference:
        rows.append(_alone(arm.label, "examples/s", with_noise(figures.throughput)))
        now = f"{figures.efficiency.value:.3f}"
        rows.append(_alone(f"E({arm.replicas})", "", now, _floor_of(verdict, f"E({arm.replicas})")))
    return (*rows, *_speedup(verdict))


def _speedup(verdict: ArmVerdict) -> tuple[Row, ...]:
    """How many times the arm is as fast as what it is held against."""
    seen = verdict.figures.speedup
    if seen is None:
        return ()
    label = f"S({verdict.arm.replicas})"
    return (_alone(label, f"x {verdict.versus}", with_noise(seen), _floor_of(verdict, label)),)


def _floor_of(verdict: ArmVerdict, label: str) -> FloorVerdict | None:
    return next((floor for floor in verdict.floors if floor.label == label), None)


def _shown_by(metric: MetricVerdict, others: Sequence[MetricVerdict]) -> str:
    """Label of what shows a loss that the figure's own interval does not; empty where that does."""
    if metric.verdict is not Verdict.REGRESSED or metric.comparison.change.high < 1:
        return ""
    by_metric = {each.comparison.metric: each for each in others if each is not metric}
    # T(1) alone has a reason of its own, see `comparison.together`.
    shows = by_metric.get("efficiency" if metric.reason else "common")
    return shows.comparison.label if shows else ""


def _compared(metric: MetricVerdict, floor: FloorVerdict | None, shown_by: str = "") -> Row:
    comparison = metric.comparison
    change, before = comparison.change, comparison.baseline
    text, severity = str(metric.verdict), metric.verdict
    if metric.excused:
        others = f"T(1) and {comparison.label.replace('E', 'T', 1)}"
        severity = Verdict.UNCHANGED
        text = f"open, but {others} lost nothing"
        if metric.verdict is Verdict.REGRESSED:
            text = f"{metric.verdict}, but only as T(1) got faster"
    elif metric.verdict is Verdict.REGRESSED:
        text += f", see {shown_by}" if shown_by else ""
        text += f", tolerance {format_percent(metric.tolerance)}"
    if comparison.metric != "efficiency":
        return Row(
            comparison.label,
            "examples/s",
            with_noise(before),
            with_noise(comparison.now),
            format_percent(change.value - 1, signed=True),
            _interval(change, 100),
            text,
            severity,
        )
    floor_text, missed = _floor_text(floor)
    return Row(
        comparison.label,
        "",
        f"{before.value:.3f}",
        f"{comparison.now.value:.3f}",
        format_points(before.value * (change.value - 1)),
        _interval(change, 100 * before.value),
        text + (", and " + floor_text if floor_text else ""),
        Verdict.REGRESSED if missed else severity,
    )


def _alone(label: str, unit: str, now: str, floor: FloorVerdict | None = None) -> Row:
    text, missed = _floor_text(floor)
    return Row(label, unit, "", now, "", "", text, Verdict.REGRESSED if missed else None)


def _floor_text(floor: FloorVerdict | None) -> tuple[str, bool]:
    """Words for the last column, and whether the floor is missed."""
    if floor is None or floor.verdict is Verdict.UNCHANGED:
        return "", False
    if floor.verdict is Verdict.REGRESSED:
        return f"under its floor {floor.floor:.3f}", True
    return f"not sure to be over its floor {floor.floor:.3f}", False


def with_noise(estimate: Estimate) -> str:
    """A throughput or a ratio, and half its interval as far as it is known: ``17 940 +- 0.8 %``."""
    value, noise = format_number(estimate.value), estimate.half_width
    if isinf(noise):
        return value
    return f"{value} +- {format_percent(noise)}" if noise < 1 else f"{value} +- over 100 %"


def _interval(change: Estimate, scale: float) -> str:
    """In percent or points, as the scale is; none where it has no end, or holds nearly all that there is."""
    low, high = scale * (change.low - 1), scale * (change.high - 1)
    if not (isfinite(low) and isfinite(high)) or (change.low < _ALL_LOST and change.high > _MANY_TIMES):
        return "[no interval]"
    return f"[{low:+.1f}, {f'{high:+.1f}' if high < 1000 else 'over +1000'}]"
