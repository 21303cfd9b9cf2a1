"""Effects and their intervals: an arm's runs summed up, and held against a baseline's."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import Comparison, Figures, Metric
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.stats import summary

_SHOWN_CONFIDENCE = 0.95


def efficiencies(reference: Sequence[float], throughput: Sequence[float], replicas: int) -> tuple[float, ...]:
    """E(N) = T(N) / (N x T(1)) of each round: both arms ran within minutes, so slow drift cancels.

    Raises:
        ValueError: the two are not paired.
    """
    if len(reference) != len(throughput):
        raise ValueError(f"{len(reference)} reference runs for {len(throughput)} runs: efficiency needs pairs")
    return tuple(now / (replicas * one) for one, now in zip(reference, throughput))


def figures(runs: PairedRuns, replicas: int) -> Figures:
    """Sum up paired runs; throughputs in examples/s of the whole job, step times in seconds."""

    def mean(values: Sequence[float]) -> Estimate:
        return summary.geometric_mean(values, _SHOWN_CONFIDENCE)

    return Figures(
        reference=mean(runs.reference),
        throughput=mean(runs.throughput),
        efficiency=mean(efficiencies(runs.reference, runs.throughput, replicas)),
        step_time=mean(runs.step_time),
        # As with efficiency: the two of a round ran within minutes, so their ratio is free of slow drift.
        speedup=mean([own / other for own, other in zip(runs.throughput, runs.versus)]) if runs.versus else None,
    )


def compare(
    metric: Metric,
    label: str,
    now: Sequence[float],
    before: Sequence[float],
    tolerance: float,
    policy: ComparisonPolicy,
) -> Comparison:
    """Hold the values of one metric, one per run, against the baseline's."""
    return Comparison(
        metric=metric,
        label=label,
        baseline=summary.geometric_mean(before, _SHOWN_CONFIDENCE),
        now=summary.geometric_mean(now, _SHOWN_CONFIDENCE),
        change=summary.ratio(now, before, policy.confidence),
        assured=summary.ratio(now, before, policy.assurance),
        runs_needed=summary.runs_needed(now, before, tolerance, policy.confidence),
    )


def compare_arm(
    runs: PairedRuns,
    baseline: BaselineEntry,
    label: str,
    tolerance: float,
    policy: ComparisonPolicy,
    *,
    own_reference: bool,
) -> tuple[Comparison, ...]:
    """T(1), T(N) and E(N) against the baseline; only T(1) for an arm that is its own reference."""
    comparisons = [compare("reference", "T(1)", runs.reference, baseline.reference_throughput, tolerance, policy)]
    if not own_reference:
        count = baseline.replicas
        comparisons += [
            compare("throughput", label, runs.throughput, baseline.throughput, tolerance, policy),
            compare(
                "efficiency",
                f"E({count})",
                efficiencies(runs.reference, runs.throughput, count),
                efficiencies(baseline.reference_throughput, baseline.throughput, count),
                tolerance,
                policy,
            ),
        ]
    return tuple(comparisons)
