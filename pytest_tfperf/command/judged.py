"""Two sides, arm by arm: which of them both have, and what the judge says of those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_tfperf.command.sides import Key, Side, SideArm
from pytest_tfperf.comparison.floors import Floor
from pytest_tfperf.comparison.judge import hypotheses_of, judge_arm
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.diagnosis.findings import forced, slowed
from pytest_tfperf.measurement.environment import changed
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.report.view import ArmView, arm_view
from pytest_tfperf.units import format_percent, plural


@dataclass(frozen=True)
class Pair:
    """An arm that both sides have; `there` is what it is held against."""

    here: SideArm
    there: SideArm

    @property
    def other_machine(self) -> str:
        """Which hard keys of the environments differ, in words; empty where none does."""
        here, there = self.here.entry.hard, self.there.entry.hard
        return "; ".join(
            f"{key} was {there.get(key, 'not set')}, is {here.get(key, 'not set')}"
            for key in sorted({*here, *there})
            if here.get(key) != there.get(key)
        )


@dataclass(frozen=True)
class Matched:
    """What two sides have in common, and what only one of them has."""

    pairs: tuple[Pair, ...]
    only_there: tuple[SideArm, ...]
    only_here: tuple[SideArm, ...]


def match(there: Side, here: Side) -> Matched:
    """Find each arm's counterpart: of several tests that measure the same thing, the one of the same name."""
    by_key: dict[Key, list[SideArm]] = {}
    for arm in there.arms:
        by_key.setdefault(arm.key, []).append(arm)
    pairs, alone = [], []
    for arm in here.arms:
        candidates = by_key.get(arm.key, [])
        same = [each for each in candidates if each.group == arm.group]
        if candidates:
            pairs.append(Pair(arm, (same or candidates)[0]))
        else:
            alone.append(arm)
    known = {arm.key for arm in here.arms}
    return Matched(tuple(pairs), tuple(arm for arm in there.arms if arm.key not in known), tuple(alone))


@dataclass(frozen=True)
class Judged:
    """What was decided of a pair, or why nothing was."""

    pair: Pair
    view: ArmView | None
    why_not: str = ""

    @property
    def is_compared(self) -> bool:
        return self.view is not None


def judge_pairs(pairs: Sequence[Pair], tolerance: float | None) -> tuple[Judged, ...]:
    """Judge every pair as a gate does that looks once, after all rounds.

    The chance of a false alarm is shared by all figures that are judged. `tolerance` wins over those of the sides.
    """
    found = [(pair, *_fresh(pair)) for pair in pairs]
    hypotheses = _hypotheses([fresh for _, fresh, _ in found if fresh is not None and _same_definition(fresh)])
    judged = []
    for pair, fresh, why_not in found:
        if fresh is None:
            judged.append(Judged(pair, None, why_not))
            continue
        verdict = _verdict(fresh, tolerance, hypotheses)
        if verdict.verdict is Verdict.INCOMPARABLE:
            judged.append(Judged(pair, None, "; ".join(verdict.reasons)))
        else:
            judged.append(Judged(pair, _view(fresh, verdict, tolerance)))
    return tuple(judged)


def _fresh(pair: Pair) -> tuple[Pair | None, str]:
    """The pair as it is to be judged, without runs that both sides hold: held against themselves they say nothing.

    None, and why, where nothing is left to judge.
    """
    if pair.other_machine:
        return None, f"another environment: {pair.other_machine}"
    newest, sessions = pair.here.entry.latest, pair.there.entry.sessions
    others = tuple(
        each
        for each in sessions
        if (each.throughput, each.reference_throughput) != (newest.throughput, newest.reference_throughput)
    )
    if not others:
        return None, f"both hold the same runs, those of {newest.provenance.date}"
    return Pair(pair.here, replace(pair.there, entry=replace(pair.there.entry, sessions=others))), ""


def _same_definition(pair: Pair) -> bool:
    return dict(pair.here.entry.definition) == dict(pair.there.entry.definition)


def _hypotheses(pairs: Sequence[Pair]) -> int:
    """How many figures and floors are judged: T(1) once for the arms that share it."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(f"{pair.here.group} {pair.here.device}", []).append(pair)
    return sum(
        hypotheses_of(
            [pair.here.entry.replicas for pair in group],
            sum(len(_floors(pair)) for pair in group),
            own_reference=any(pair.here.own_reference for pair in group),
        )
        for group in groups.values()
    )


def _floors(pair: Pair) -> list[Floor]:
    floor = pair.there.entry.floor
    return [] if floor is None or pair.here.own_reference else [Floor("efficiency", floor, "A")]


def tolerance_of(pair: Pair, given: float | None) -> tuple[float, str]:
    """The one that was asked for; else what A says, where somebody may have set it by hand; else what B says.

    With it, where it is from.
    """
    known = (
        (given, "of --tolerance"),
        (pair.there.tolerance, "of A"),
        (pair.here.tolerance, "of B"),
        (ComparisonPolicy.tolerance, "the default"),
    )
    return next((each, origin) for each, origin in known if each is not None)


def _verdict(pair: Pair, tolerance: float | None, hypotheses: int) -> ArmVerdict:
    here, runs = pair.here, pair.here.newest
    rounds = len(runs.throughput)
    return judge_arm(
        here.arm,
        runs,
        definition=here.entry.definition,
        baseline=pair.there.entry,
        missing="",
        floors=_floors(pair),
        tolerance=tolerance_of(pair, tolerance)[0],
        policy=ComparisonPolicy(),
        look=Look(rounds, rounds, final=True, alone=True),
        hypotheses=hypotheses,
        held_against="A",
        versus=here.versus_name,
        own_reference=here.own_reference,
        disturbed=_of_both(pair.here.disturbed, pair.there.disturbed),
    )


def _of_both(here: Sequence[str], there: Sequence[str]) -> tuple[str, ...]:
    return (*here, *(f"in A, {text}" for text in there))


def _doubts(pair: Pair) -> Iterator[str]:
    """What of either side is no full measurement of the code as it is."""
    for name, side, sessions in (
        ("B", pair.here, (pair.here.entry.latest,)),
        ("A", pair.there, pair.there.entry.sessions),
    ):
        rounds = plural(side.whole_rounds, "whole round")
        interrupted = f"Its session ended before this test did, after {rounds}." if side.interrupted else ""
        told = interrupted, slowed(side.slowed), forced(sessions)
        yield from (f"{name}: {text}" for text in told if text)


def _view(pair: Pair, verdict: ArmVerdict, given: float | None) -> ArmView:
    here, there = pair.here.entry, pair.there.entry
    rounds = len(here.latest.throughput)
    stored = sum(len(session.throughput) for session in there.sessions)
    view = arm_view(
        verdict,
        environment=Environment(here.hard, here.latest.soft),
        soft_changes=changed(there.latest.soft, here.latest.soft),
        warnings=pair.here.warnings,
        details=(),
        findings=[
            *_doubts(pair),
            *(f"Disturbed: {text}." for text in _of_both(pair.here.disturbed, pair.there.disturbed)),
            *(f"Left out, disturbed: {text}." for text in _of_both(pair.here.left_out, pair.there.left_out)),
        ],
        rounds=rounds,
        seconds=0.0,
        command="",
        variant=here.variant,
    )
    tolerance, origin = tolerance_of(pair, given)
    left = pair.here.whole_rounds - rounds
    more = f" ({left} more left out)" if left > 0 else ""
    footer = (
        f"{plural(rounds, 'round')}{more} of {here.provenance.date}, against {plural(stored, 'round')} of "
        f"{plural(len(there.sessions), 'session')}; tolerance {format_percent(tolerance)}, {origin}"
    )
    return replace(view, before="A", footer=footer)
