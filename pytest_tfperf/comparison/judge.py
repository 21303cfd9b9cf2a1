"""The only maker of verdicts: comparisons and a policy in, a decision with its reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Literal

from pytest_tfperf.comparison.effect import compare_arm, figures
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.arm import Arm, Scalar
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import (
    ArmVerdict,
    Comparison,
    Figures,
    FloorVerdict,
    MetricVerdict,
    Verdict,
)
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.units import format_percent

# Worst first: an arm's verdict is the worst of its figures'.
_SEVERITY = (Verdict.REGRESSED, Verdict.INCONCLUSIVE, Verdict.IMPROVED, Verdict.UNCHANGED)


def judge_metric(comparison: Comparison, tolerance: float) -> MetricVerdict:
    """Size and certainty: regressed only beyond the tolerance *and* with an interval that excludes no change."""
    change, assured = comparison.change, comparison.assured
    if change.value < 1 - tolerance and change.high < 1:
        return MetricVerdict(comparison, Verdict.REGRESSED, tolerance)
    if change.value > 1 + tolerance and change.low > 1:
        return MetricVerdict(comparison, Verdict.IMPROVED, tolerance)
    if assured.low >= 1 - tolerance:
        return MetricVerdict(comparison, Verdict.UNCHANGED, tolerance)
    return MetricVerdict(comparison, Verdict.INCONCLUSIVE, tolerance, _why_undecided(comparison, tolerance))


def _why_undecided(comparison: Comparison, tolerance: float) -> str:
    if isinf(comparison.change.high) or comparison.runs_needed is None:
        return f"{comparison.label}: one run says nothing of its noise"
    return (
        f"{comparison.label}: a loss of up to {format_percent(max(0.0, 1 - comparison.assured.low))} cannot be ruled "
        f"out at this noise (tolerance {format_percent(tolerance)}); about {comparison.runs_needed} rounds on both "
        "sides would decide"
    )


@dataclass(frozen=True)
class Floor:
    """The lowest E(N) or S(N) allowed, and where that was set."""

    kind: Literal["efficiency", "speedup"]
    value: float
    origin: str


def judge_floor(floor: Floor, now: Figures, replicas: int) -> FloorVerdict | None:
    """Missed or met only where the whole interval lies on one side; None where there is no such figure."""
    seen = now.efficiency if floor.kind == "efficiency" else now.speedup
    if seen is None:
        return None
    verdict = Verdict.INCONCLUSIVE
    if seen.high < floor.value:
        verdict = Verdict.REGRESSED
    elif seen.low >= floor.value:
        verdict = Verdict.UNCHANGED
    return FloorVerdict(f"{floor.kind[0].upper()}({replicas})", seen, floor.value, floor.origin, verdict)


def judge_arm(
    arm: Arm,
    runs: PairedRuns,
    *,
    definition: Mapping[str, Scalar],
    baseline: BaselineEntry | None,
    missing: str,
    floors: Sequence[Floor],
    tolerance: float,
    policy: ComparisonPolicy,
    versus: str = "",
    own_reference: bool = False,
    smoke: str = "",
) -> ArmVerdict:
    """Decide about one arm from its paired runs.

    Args:
        definition: what was measured; a baseline of another one is incomparable.
        baseline: the stored measurement of this environment, None where there is none.
        missing: why there is none, for the reader.
        versus: what S(N) is the ratio to, for the reader.
        own_reference: True where T(N) is T(1), so that E(N) is not judged.
        smoke: where not empty, nothing is judged, for this reason.
    """
    now = figures(runs, arm.replicas)
    if smoke:
        return ArmVerdict(arm, Verdict.INCONCLUSIVE, now, (), (), (f"not judged: {smoke}",), baseline, versus)
    wanted = [floor for floor in floors if not (own_reference and floor.kind == "efficiency")]
    judged = tuple(filter(None, (judge_floor(floor, now, arm.replicas) for floor in wanted)))
    reasons = [_floor_reason(floor) for floor in judged]
    metrics: tuple[MetricVerdict, ...] = ()
    if baseline is None:
        verdict = Verdict.NO_BASELINE
        reasons.append(missing)
    elif differences := _differences(definition, baseline.definition):
        verdict = Verdict.INCOMPARABLE
        reasons.append("the baseline measured something else: " + "; ".join(differences))
    else:
        comparisons = compare_arm(runs, baseline, arm.label, tolerance, policy, own_reference=own_reference)
        metrics = _excuse_efficiency(tuple(judge_metric(each, tolerance) for each in comparisons))
        verdict = next(
            each for each in _SEVERITY if any(metric.verdict is each and not metric.excused for metric in metrics)
        )
        reasons += [metric.reason for metric in metrics if metric.reason]
    for open_or_missed in (Verdict.INCONCLUSIVE, Verdict.REGRESSED):
        if any(floor.verdict is open_or_missed for floor in judged) and verdict is not Verdict.REGRESSED:
            verdict = open_or_missed
    return ArmVerdict(arm, verdict, now, metrics, judged, tuple(filter(None, reasons)), baseline, versus)


def _excuse_efficiency(metrics: tuple[MetricVerdict, ...]) -> tuple[MetricVerdict, ...]:
    """A fall of E(N), sure or possible, counts for nothing where T(1) got faster and T(N) no slower."""
    by_metric = {metric.comparison.metric: metric for metric in metrics}
    efficiency = by_metric.get("efficiency")
    if (
        efficiency is None
        or efficiency.verdict not in (Verdict.REGRESSED, Verdict.INCONCLUSIVE)
        or by_metric["reference"].verdict is not Verdict.IMPROVED
        or by_metric["throughput"].verdict not in (Verdict.IMPROVED, Verdict.UNCHANGED)
    ):
        return metrics
    fell = "fell" if efficiency.verdict is Verdict.REGRESSED else "may have fallen"
    reason = f"{efficiency.comparison.label} {fell} because T(1) got faster; nothing got slower"
    excused = MetricVerdict(efficiency.comparison, efficiency.verdict, efficiency.tolerance, reason, excused=True)
    return tuple(excused if metric is efficiency else metric for metric in metrics)


def _floor_reason(floor: FloorVerdict) -> str:
    if floor.verdict is Verdict.UNCHANGED:
        return ""
    seen, label = floor.now, floor.label
    if floor.verdict is Verdict.REGRESSED:
        return f"{label} {seen.value:.3f} is under its floor {floor.floor:.3f} (set in {floor.origin})"
    if seen.n < 2:
        return f"{label}: one run cannot say whether its floor {floor.floor:.3f} is met"
    return (
        f"{label} {seen.value:.3f} [{seen.low:.3f}, {seen.high:.3f}] does not say whether its floor "
        f"{floor.floor:.3f} is met; more rounds would"
    )


def _differences(now: Mapping[str, Scalar], before: Mapping[str, Scalar]) -> list[str]:
    return [
        f"{key} was {before.get(key, 'not set')}, is {now.get(key, 'not set')}"
        for key in sorted({*now, *before})
        if now.get(key) != before.get(key)
    ]
