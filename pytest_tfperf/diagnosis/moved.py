"""Which side moved: the first thing that whoever reads a failure wants to know."""

from __future__ import annotations

from pytest_tfperf.records.comparison import ArmVerdict, MetricVerdict, Verdict


def what_moved(verdict: ArmVerdict) -> str:
    """One or two sentences; empty where nothing was compared or nothing moved."""
    all_metrics = {metric.comparison.metric: metric for metric in verdict.metrics}
    common = all_metrics.get("common")
    by_metric = {name: metric for name, metric in all_metrics.items() if name != "common"}
    labels = {name: metric.comparison.label for name, metric in by_metric.items()}
    down = {name for name, metric in by_metric.items() if metric.verdict is Verdict.REGRESSED and not metric.excused}
    up = {name for name, metric in by_metric.items() if metric.verdict is Verdict.IMPROVED}
    if common is not None and common.verdict is Verdict.REGRESSED and not {"reference", "throughput"} & down:
        return f"What moved: {common.comparison.label}. Together they got slower; which one is lost in the noise."
    if not down:
        return "Faster: " + ", ".join(labels[name] for name in labels if name in up) + "." if up else ""
    moved = "What moved: " + " and ".join(labels[name] for name in labels if name in down) + ". "
    efficiency = labels.get("efficiency", "")
    # At one replica nothing scales: what E(1) holds against the reference is what the strategy itself costs.
    of_one = verdict.arm.replicas == 1 and "throughput" in by_metric
    one, scaling = ("the reference", "the strategy") if of_one else ("one replica", "scaling")
    alone = one if of_one else f"{one} alone"
    if down == {"efficiency"} and any(metric.verdict is Verdict.INCONCLUSIVE for metric in by_metric.values()):
        both = f"T(1) and {labels['throughput']}"
        return moved + f"{scaling.capitalize()} got worse; which of {both} moved is lost in the noise."
    if down == {"efficiency"}:
        return moved + (
            f"T(1) and {labels['throughput']} each stayed within the tolerance, but they moved apart, so {scaling} got "
            "worse."
        )
    if by_metric["reference"].verdict is Verdict.INCONCLUSIVE:
        return moved + f"Whether {alone} got slower too is lost in the noise."
    if "reference" not in down:
        return moved + f"{one.capitalize()} is as fast as before, so the loss is in {scaling}, not in the model."
    if "throughput" not in by_metric:
        return moved + "One replica alone got slower: look at the model, its input, the versions and the machine."
    if "throughput" in down and "efficiency" in down:
        return moved + f"{alone.capitalize()} got slower, and {scaling} lost more on top."
    in_noise = {name for name, metric in by_metric.items() if metric.verdict is Verdict.INCONCLUSIVE}
    if "throughput" in down and "efficiency" in in_noise:
        return moved + f"All got slower; whether {scaling} got worse too is lost in the noise."
    if "throughput" in down and "efficiency" in set(by_metric) - up and _looks_higher(by_metric["efficiency"]):
        return moved + f"All got slower; {efficiency} looks higher, though not for sure."
    if "throughput" in down:
        alike = "" if "efficiency" in up else " alike"
        held = "rose" if "efficiency" in up else "held"
        return moved + f"All got slower{alike} and {efficiency} {held}, so the loss is in the model, not in {scaling}."
    if "throughput" in in_noise and _looks_lower(by_metric["throughput"]):
        return moved + f"{alone.capitalize()} got slower; {labels['throughput']} looks slower too, though not for sure."
    did_not = "may not have" if "throughput" in in_noise else "did not"
    rose = "rose" if "efficiency" in up else "may have fallen" if "efficiency" in in_noise else "did not fall"
    if "efficiency" in in_noise:
        return moved + f"{alone.capitalize()} got slower; {labels['throughput']} {did_not}, and {efficiency} {rose}."
    return moved + (
        f"{alone.capitalize()} got slower while {labels['throughput']} {did_not}; {efficiency} {rose}, so efficiency "
        "alone would have hidden it."
    )


def _looks_higher(metric: MetricVerdict) -> bool:
    """Beyond the tolerance, though its interval holds less: then not all have lost alike, as far as anybody knows."""
    return metric.comparison.change.value > 1 + metric.tolerance


def _looks_lower(metric: MetricVerdict) -> bool:
    return metric.comparison.change.value < 1 - metric.tolerance
