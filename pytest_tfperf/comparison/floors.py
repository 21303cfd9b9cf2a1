"""E(N) and S(N) against the lowest value that a test or a baseline file allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_tfperf.comparison.chances import Errors
from pytest_tfperf.comparison.effect import efficiencies, speedups
from pytest_tfperf.comparison.outlook import HOPE
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import FloorVerdict, Verdict
from pytest_tfperf.records.difference import Difference
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.stats.difference import chance_above, expected_half_width, interval, level
from pytest_tfperf.stats.summary import bounded_exp


@dataclass(frozen=True)
class Floor:
    """The lowest E(N) or S(N) allowed, and where that was set."""

    kind: Literal["efficiency", "speedup"]
    value: float
    origin: str


def judge_floor(
    floor: Floor,
    runs: PairedRuns,
    replicas: int,
    baseline: BaselineEntry | None,
    look: Look,
    errors: Errors,
    last: Errors,
) -> FloorVerdict | None:
    """Missed where the interval of an alarm lies below, met where that of `unchanged` lies above.

    None where there is no such figure. `baseline` adds what it knows of the noise, and `last` is what the last look may
    spend: the first one may raise no alarm at all, and would never hope for one.
    """
    if floor.kind == "speedup" and not runs.versus:
        return None
    now: Sequence[float]
    earlier: list[tuple[float, ...]] = []
    if floor.kind == "speedup":
        now = speedups(runs)
    else:
        now = efficiencies(runs.reference, runs.throughput, replicas)
        sessions = baseline.sessions if baseline is not None else ()
        earlier = [efficiencies(each.reference_throughput, each.throughput, replicas) for each in sessions]
    found = level(now, floor.value, earlier)
    verdict = Verdict.INCONCLUSIVE
    if interval(found, errors.alarm).high < 1:
        verdict = Verdict.REGRESSED
    elif interval(found, errors.miss).low >= 1:
        verdict = Verdict.UNCHANGED
    seen = _scaled(interval(found, errors.miss), floor.value, bounded_exp(found.log_ratio))
    still_open = verdict is Verdict.INCONCLUSIVE and not look.last and _may_be_decided(found, look, last)
    return FloorVerdict(f"{floor.kind[0].upper()}({replicas})", seen, floor.value, floor.origin, verdict, still_open)


def reason(floor: FloorVerdict) -> str:
    """Why, in words; empty where the floor is met."""
    if floor.verdict is Verdict.UNCHANGED:
        return ""
    seen, label = floor.now, floor.label
    if floor.verdict is Verdict.REGRESSED:
        return f"{label} {seen.value:.3f} is under its floor {floor.floor:.3f} (set in {floor.origin})"
    if seen.n < 2:
        return f"{label}: one run cannot say whether its floor {floor.floor:.3f} is met"
    figure = f"{label} {seen.value:.3f} [{seen.low:.3f}, {seen.high:.3f}]"
    if seen.high < floor.floor:  # this interval is not the wider one that an alarm takes
        return (
            f"{figure} looks to be under its floor {floor.floor:.3f}, but not surely enough for an alarm; more rounds "
            "would decide it"
        )
    return f"{figure} does not say whether its floor {floor.floor:.3f} is met; more rounds would"


def _scaled(estimate: Estimate, value: float, ratio: float) -> Estimate:
    return Estimate(ratio * value, estimate.low * value, estimate.high * value, estimate.confidence, estimate.n)


def _may_be_decided(found: Difference, look: Look, last: Errors) -> bool:
    if not found.within_freedom:
        return True
    met = expected_half_width(found, look.planned, last.miss)
    missed = expected_half_width(found, look.planned, last.alarm)
    chances = chance_above(found, look.planned, met), 1 - chance_above(found, look.planned, -missed)
    return max(chances) > HOPE
