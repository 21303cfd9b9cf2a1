"""The only maker of verdicts: comparisons and a policy in, a decision with its reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf

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


def judge_floor(floor: float, origin: str, now: Figures) -> FloorVerdict:
    """Missed or met only where the whole interval of E(N) lies on one side."""
    if now.efficiency.high < floor:
        return FloorVerdict(floor, origin, Verdict.REGRESSED)
    if now.efficiency.low >= floor:
        return FloorVerdict(floor, origin, Verdict.UNCHANGED)
    return FloorVerdict(floor, origin, Verdict.INCONCLUSIVE)


def judge_arm(
    arm: Arm,
    reference: Sequence[float],
    throughput: Sequence[float],
    step_time: Sequence[float],
    *,
    definition: Mapping[str, Scalar],
    baseline: BaselineEntry | None,
    missing: str,
    floor: tuple[float, str] | None,
    tolerance: float,
    policy: ComparisonPolicy,
    own_reference: bool = False,
    smoke: str = "",
) -> ArmVerdict:
    """Decide about one arm from its paired runs.

    Args:
        reference, throughput: examples/s of the reference and of the arm, one per round, paired.
        step_time: seconds, one per round.
        definition: what was measured; a baseline of another one is incomparable.
        baseline: the stored measurement of this environment, None where there is none.
        missing: why there is none, for the reader.
        floor: lowest E(N) allowed and where it was set.
        own_reference: True where T(N) is T(1), so that E(N) is not judged.
        smoke: where not empty, nothing is judged, for this reason.
    """
    now = figures(reference, throughput, step_time, arm.replicas)
    if smoke:
        return ArmVerdict(arm, Verdict.INCONCLUSIVE, now, (), None, (f"not judged: {smoke}",), baseline)
    floor_verdict = judge_floor(floor[0], floor[1], now) if floor and not own_reference else None
    reasons = [_floor_reason(arm, floor_verdict, now)] if floor_verdict else []
    metrics: tuple[MetricVerdict, ...] = ()
    if baseline is None:
        verdict = Verdict.NO_BASELINE
        reasons.append(missing)
    elif differences := _differences(definition, baseline.definition):
        verdict = Verdict.INCOMPARABLE
        reasons.append("the baseline measured something else: " + "; ".join(differences))
    else:
        comparisons = compare_arm(
            reference, throughput, baseline, arm.label, tolerance, policy, own_reference=own_reference
        )
        metrics = _excuse_efficiency(tuple(judge_metric(each, tolerance) for each in comparisons))
        verdict = next(
            each for each in _SEVERITY if any(metric.verdict is each and not metric.excused for metric in metrics)
        )
        reasons += [metric.reason for metric in metrics if metric.reason]
    if floor_verdict is not None and floor_verdict.verdict is Verdict.REGRESSED:
        verdict = Verdict.REGRESSED
    elif floor_verdict is not None and floor_verdict.verdict is Verdict.INCONCLUSIVE:
        verdict = verdict if verdict is Verdict.REGRESSED else Verdict.INCONCLUSIVE
    return ArmVerdict(arm, verdict, now, metrics, floor_verdict, tuple(filter(None, reasons)), baseline)


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


def _floor_reason(arm: Arm, verdict: FloorVerdict, now: Figures) -> str:
    if verdict.verdict is Verdict.UNCHANGED:
        return ""
    label, seen = f"E({arm.replicas})", now.efficiency
    if verdict.verdict is Verdict.REGRESSED:
        return f"{label} {seen.value:.3f} is under its floor {verdict.floor:.3f} (set in {verdict.origin})"
    if seen.n < 2:
        return f"{label}: one run cannot say whether its floor {verdict.floor:.3f} is met"
    return (
        f"{label} {seen.value:.3f} [{seen.low:.3f}, {seen.high:.3f}] does not say whether its floor "
        f"{verdict.floor:.3f} is met; more rounds would"
    )


def _differences(now: Mapping[str, Scalar], before: Mapping[str, Scalar]) -> list[str]:
    return [
        f"{key} was {before.get(key, 'not set')}, is {now.get(key, 'not set')}"
        for key in sorted({*now, *before})
        if now.get(key) != before.get(key)
    ]
