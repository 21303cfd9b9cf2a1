"""What a reader has to know beside a verdict, passed or failed: stragglers, odd or disturbed runs, scaling too good."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tfperf.diagnosis.left_out import left_out
from pytest_tfperf.diagnosis.straggler import stragglers
from pytest_tfperf.diagnosis.superlinear import above_one
from pytest_tfperf.records.baseline import BaselineSession
from pytest_tfperf.records.comparison import ArmVerdict
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.units import plural

_SHOWN = 3
"""Disturbed runs of which the reason is told; of more only the number is."""


def findings(result: SweepResult, verdict: ArmVerdict) -> tuple[str, ...]:
    """Sentences, the most telling first; none where all went as it should."""
    replicas = verdict.arm.replicas
    own_reference = result.sweep.is_own_reference(replicas)
    baseline = forced(verdict.baseline.sessions) if verdict.baseline else ""
    found = [
        slowed(result.sweep.spec.slowed(replicas)),
        baseline,
        *stragglers(result.counting_runs(result.arm_of(replicas), replicas)),
    ]
    found.append("" if own_reference else above_one(verdict.figures.efficiency, replicas))
    for where, throughputs in result.throughputs_of(replicas).items():
        found += left_out(where, throughputs)
    disturbed, repeated = result.disturbances_of(replicas), result.repeats_of(replicas)
    if disturbed:
        found.append(f"Disturbed runs that count: {_some(disturbed)}.")
    if left := result.left_out_of(replicas):
        found.append(f"Left out, with all of their rounds, as they were disturbed: {_some(left)}.")
    if repeated:
        runs = "1 run was" if len(repeated) == 1 else f"{plural(len(repeated), 'run')} were"
        found.append(f"{runs} disturbed and made again: {_some(repeated)}.")
    return tuple(filter(None, found))


def slowed(arms: Sequence[str]) -> str:
    """Whoever forgets a slowdown in a marker is to see it beside every verdict. Of arms such as ``T(4) by 10 %``."""
    return f"The marker's slowdown makes steps longer on purpose: {', '.join(arms)}." if arms else ""


def forced(sessions: Sequence[BaselineSession]) -> str:
    """What was saved by force is a doubtful thing to be held against, and nobody remembers it months later."""
    doubtful = [session.provenance for session in sessions if session.provenance.forced]
    if not doubtful:
        return ""
    each = [f"that of {saved.date[:10]}, although {saved.forced}" for saved in doubtful[::-1]]
    of = f"{len(doubtful)} of {len(sessions)} stored sessions {'was' if len(doubtful) == 1 else 'were'}"
    return f"{'The stored session was' if len(sessions) == 1 else of} saved by force: {_some(each)}."


def _some(lines: Sequence[str]) -> str:
    more = f" | and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return " | ".join(lines[:_SHOWN]) + more
