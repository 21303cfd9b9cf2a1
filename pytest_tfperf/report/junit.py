"""What a JUnit file says of a test beside passed or failed: properties that Jenkins and others show and plot."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Figure, Judgement
from pytest_tfperf.units import plain_decimal

PREFIX = "tfperf_"

Property = tuple[str, str]
"""Name and value."""


def identity_properties(
    workload: str, strategy: str, replicas: int, device: str, variant: str | None = None
) -> tuple[Property, ...]:
    """What a test measures: known also where measuring fails."""
    named = {"workload": workload, "strategy": strategy, "replicas": str(replicas), "device": device}
    if variant:
        named["variant"] = variant
    return tuple((PREFIX + name, value) for name, value in named.items())


def judgement_properties(judgement: Judgement, environment: str) -> tuple[Property, ...]:
    """What was measured and decided; `environment` is the name of the baselines' folder.

    Throughputs are examples/s of the whole job, step times seconds, efficiencies fractions of N x T(1), and changes
    now / baseline - 1: below 0 is worse. Ends of intervals are those of the value's 95 % interval; of a change they are
    those that decide on an alarm. What is not known is left out.
    """
    return tuple((PREFIX + name, value) for name, value in _properties(judgement, environment) if value)


def _properties(judgement: Judgement, environment: str) -> Iterator[Property]:
    yield "verdict", str(judgement.verdict)
    yield "environment", environment
    yield from _figure("throughput", judgement.throughput)
    yield from _figure("reference_throughput", judgement.reference)
    yield from _figure("efficiency", judgement.efficiency)
    yield from _figure("step_time_seconds", judgement.step_time)
    if judgement.speedup is not None:
        yield from _figure("speedup", judgement.speedup)
        yield "versus", judgement.versus
    yield "runs", str(judgement.throughput.n)
    names = {"throughput": "change", "reference": "reference_change", "efficiency": "efficiency_change"}
    changes = {metric.metric: metric.change for metric in judgement.metrics}
    if "reference" in changes and "throughput" not in changes:  # an arm that is its own reference has one throughput
        changes["throughput"] = changes["reference"]
    for metric, name in names.items():
        if metric in changes:
            yield from _figure(name, changes[metric], less=1.0)
    for floor in judgement.floors:
        name = "efficiency_floor" if floor.label.startswith("E") else "speedup_floor"
        yield name, plain_decimal(floor.floor)
        yield f"{name}_met", {Verdict.UNCHANGED: "yes", Verdict.REGRESSED: "no"}.get(floor.verdict, "not sure")


def _figure(name: str, figure: Figure, less: float = 0.0) -> Iterator[Property]:
    yield name, plain_decimal(figure.value - less)
    if figure.low is not None and figure.high is not None:
        yield f"{name}_low", plain_decimal(figure.low - less)
        yield f"{name}_high", plain_decimal(figure.high - less)
