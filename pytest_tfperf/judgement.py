"""What was decided of an arm, as writers read it."""

from __future__ import annotations

from math import isfinite

from pytest_tfperf.records.comparison import ArmVerdict, FloorVerdict, MetricVerdict
from pytest_tfperf.records.environment import Change
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.report.document import ComparedMetric, Figure, JudgedFloor, Judgement
from pytest_tfperf.report.rows import with_noise
from pytest_tfperf.report.view import ArmView
from pytest_tfperf.units import format_percent, format_points, format_seconds


def judgement(
    verdict: ArmVerdict, view: ArmView, changes: tuple[Change, ...], left_out: tuple[int, ...] = ()
) -> Judgement:
    """Make the record; `changes` are those of the environment's soft keys, `left_out` the rounds that do not count."""
    figures = verdict.figures
    return Judgement(
        verdict=verdict.verdict,
        view=view,
        reference=_speed(figures.reference),
        throughput=_speed(figures.throughput),
        efficiency=_ratio(figures.efficiency),
        step_time=_figure(figures.step_time, format_seconds(figures.step_time.value)),
        speedup=_ratio(figures.speedup) if figures.speedup else None,
        versus=verdict.versus,
        metrics=tuple(_metric(metric) for metric in verdict.metrics),
        floors=tuple(_floor(floor) for floor in verdict.floors),
        reasons=verdict.reasons,
        baseline=verdict.baseline if _has_values(verdict) else None,
        changes=changes,
        tolerance=verdict.tolerance,
        left_out=left_out,
    )


def _has_values(verdict: ArmVerdict) -> bool:
    """Whether there is something to judge anew: what is incomparable may have no run at all."""
    return verdict.baseline is not None and bool(verdict.baseline.latest.throughput)


def _metric(metric: MetricVerdict) -> ComparedMetric:
    comparison, change = metric.comparison, metric.comparison.change
    shown = _ratio if comparison.metric == "efficiency" else _speed
    if comparison.metric == "efficiency":
        text = format_points(comparison.baseline.value * (change.value - 1))
    else:
        text = format_percent(change.value - 1, signed=True)
    return ComparedMetric(
        metric=comparison.metric,
        label=comparison.label,
        baseline=shown(comparison.baseline),
        now=shown(comparison.now),
        change=_figure(change, text),
        tolerance=metric.tolerance,
        verdict=metric.verdict,
        excused=metric.excused,
        reason=metric.reason,
    )


def _floor(floor: FloorVerdict) -> JudgedFloor:
    return JudgedFloor(floor.label, floor.floor, floor.origin, _ratio(floor.now), floor.verdict)


def _speed(estimate: Estimate) -> Figure:
    return _figure(estimate, with_noise(estimate))


def _ratio(estimate: Estimate) -> Figure:
    return _figure(estimate, f"{estimate.value:.3f}")


def _figure(estimate: Estimate, text: str) -> Figure:
    low, high = estimate.low, estimate.high
    known = isfinite(low) and isfinite(high) and low > 0
    return Figure(
        value=estimate.value,
        low=low if known else None,
        high=high if known else None,
        confidence=estimate.confidence,
        n=estimate.n,
        text=text,
    )
