"""What T(1), T(N) and E(N) say of each other, as E(N) is made of the two and a day is the same for both."""

from __future__ import annotations

from dataclasses import replace

from pytest_tfperf.records.comparison import MetricVerdict, Verdict
from pytest_tfperf.units import format_percent

_NOTHING_LOST = (Verdict.UNCHANGED, Verdict.IMPROVED)


def together(metrics: tuple[MetricVerdict, ...]) -> tuple[MetricVerdict, ...]:
    """Decide what each figure could not decide by itself, and excuse what decides nothing."""
    by_metric = {metric.comparison.metric: metric for metric in metrics}
    efficiency = by_metric.get("efficiency")
    if efficiency is None:
        return metrics
    reference, throughput = by_metric["reference"], by_metric["throughput"]
    rest: tuple[MetricVerdict, ...] = ()
    if (common := by_metric.get("common")) is not None:
        reference, throughput, common = _fell_together(reference, throughput, common)
        rest = (common,)
    if _fell_alone(reference, throughput, efficiency):
        reason = (
            f"T(1) fell and {efficiency.comparison.label} rose with it, beyond the noise of a round: "
            "the machine's day, which both arms share, does not explain it"
        )
        reference = replace(reference, verdict=Verdict.REGRESSED, reason=reason)
    elif (
        efficiency.verdict in (Verdict.REGRESSED, Verdict.INCONCLUSIVE)
        and reference.verdict is Verdict.IMPROVED
        and throughput.verdict in _NOTHING_LOST
    ):
        fell = "fell" if efficiency.verdict is Verdict.REGRESSED else "may have fallen"
        reason = f"{efficiency.comparison.label} {fell} because T(1) got faster; nothing got slower"
        efficiency = replace(efficiency, reason=reason, excused=True)
    elif (
        efficiency.verdict is Verdict.INCONCLUSIVE
        and reference.verdict in _NOTHING_LOST
        and throughput.verdict in _NOTHING_LOST
    ):
        # E(N) is noisier than either, and all it could still show is T(1) gaining what T(N) did not.
        efficiency = replace(efficiency, reason="", excused=True)
    return reference, throughput, efficiency, *rest


def _fell_together(
    reference: MetricVerdict, throughput: MetricVerdict, common: MetricVerdict
) -> tuple[MetricVerdict, MetricVerdict, MetricVerdict]:
    """T(1) and T(N) in the light of what they have in common, which counts only where it is a loss."""
    parts = [
        replace(metric, verdict=Verdict.REGRESSED, reason="")
        if common.verdict is Verdict.REGRESSED
        and metric.verdict is Verdict.INCONCLUSIVE
        and metric.comparison.change.value < 1 - metric.tolerance
        else metric
        for metric in (reference, throughput)
    ]
    if parts == [reference, throughput]:
        return reference, throughput, replace(common, reason="", excused=True)
    change, label = common.comparison.change, throughput.comparison.label
    reason = (
        f"T(1) and {label} taken together lost {format_percent(1 - change.value)}, more than noise and days explain"
    )
    return parts[0], parts[1], replace(common, reason=reason)


def _fell_alone(reference: MetricVerdict, throughput: MetricVerdict, efficiency: MetricVerdict) -> bool:
    """Whether a rise of E(N) shows what the noise of T(1) itself leaves open: that T(1) got slower."""
    return (
        efficiency.verdict is Verdict.IMPROVED
        and reference.verdict is Verdict.INCONCLUSIVE
        and reference.comparison.change.value < 1 - reference.tolerance
        and throughput.verdict is not Verdict.IMPROVED
        and throughput.comparison.change.value <= 1 + throughput.tolerance
    )
