"""What a reader has to know beside a verdict, passed or failed: stragglers, odd or disturbed runs, scaling too good."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tfperf.diagnosis.left_out import left_out
from pytest_tfperf.diagnosis.straggler import stragglers
from pytest_tfperf.diagnosis.superlinear import above_one
from pytest_tfperf.records.arm import SweepSpec
from pytest_tfperf.records.comparison import ArmVerdict
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.units import plural

_SHOWN = 3
"""Disturbed runs of which the reason is told; of more only the number is."""


def findings(result: SweepResult, verdict: ArmVerdict) -> tuple[str, ...]:
    """Sentences, the most telling first; none where all went as it should."""
    replicas = verdict.arm.replicas
    own_reference = result.sweep.is_own_reference(replicas)
    found = [_slowed(result.sweep.spec, replicas), *stragglers(result.results[result.arm_of(replicas)].runs)]
    found.append("" if own_reference else above_one(verdict.figures.efficiency, replicas))
    for where, throughputs in result.throughputs_of(replicas).items():
        found += left_out(where, throughputs)
    disturbed, repeated = result.disturbances_of(replicas), result.repeats_of(replicas)
    if disturbed:
        found.append(f"Disturbed, with every attempt: {_some(disturbed)}.")
    if repeated:
        runs = "1 run was" if len(repeated) == 1 else f"{plural(len(repeated), 'run')} were"
        found.append(f"{runs} disturbed and made again: {_some(repeated)}.")
    return tuple(filter(None, found))


def _slowed(spec: SweepSpec, replicas: int) -> str:
    """Whoever forgets a slowdown in a marker is to see it beside every verdict."""
    slowed = ", ".join(spec.slowed(replicas))
    return f"The marker's slowdown makes steps longer on purpose: {slowed}." if slowed else ""


def _some(lines: Sequence[str]) -> str:
    more = f" | and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return " | ".join(lines[:_SHOWN]) + more
