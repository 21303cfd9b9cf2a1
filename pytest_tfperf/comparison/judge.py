"""The only maker of verdicts: comparisons and a policy in, a decision with its reasons out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isinf

from pytest_tfperf.comparison import floors as floor_rules
from pytest_tfperf.comparison.chances import Errors, errors_at
from pytest_tfperf.comparison.effect import compare_arm, figures
from pytest_tfperf.comparison.floors import Floor, judge_floor
from pytest_tfperf.comparison.odd_run import odd_rounds, without
from pytest_tfperf.comparison.outlook import may_alarm, may_be_assured, rounds_needed
from pytest_tfperf.comparison.together import together
from pytest_tfperf.config import ComparisonPolicy
from pytest_tfperf.records.arm import Arm, Scalar, definition_changes
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import ArmVerdict, Comparison, FloorVerdict, MetricVerdict, Verdict
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.units import format_percent, plural

# Worst first: an arm's verdict is the worst of its figures'.
_SEVERITY = (Verdict.REGRESSED, Verdict.INCONCLUSIVE, Verdict.IMPROVED, Verdict.UNCHANGED)


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
    look: Look,
    hypotheses: int,
    against: PairedRuns | None = None,
    held_against: str = "the baseline",
    remedy: str = "",
    versus: str = "",
    own_reference: bool = False,
    disturbed: Sequence[str] = (),
    may_be_undisturbed: bool = False,
    smoke: str = "",
) -> ArmVerdict:
    """Decide about one arm from its paired runs.

    Args:
        runs: of the rounds that count; where they are fewer than those of the look, the others were disturbed.
        definition: what was measured; a baseline of another one is incomparable.
        baseline: the stored measurement of this environment, None where there is none.
        missing: why there is none, for the reader.
        look: how many rounds there are, and how many there may be.
        hypotheses: figures and floors that the whole session judges, see `hypotheses_of`.
        against: runs of another revision in the same rounds; they are judged instead of the baseline's own.
        held_against: what `baseline` is, for the reader.
        remedy: what to do where it measured something else.
        versus: what S(N) is the ratio to, for the reader.
        own_reference: True where T(N) is T(1), so that E(N) is not judged.
        disturbed: why runs among these cannot be trusted; nothing is decided then.
        may_be_undisturbed: whether further rounds may leave enough that can be.
        smoke: where not empty, nothing is judged, for this reason.

    Raises:
        ValueError: a value is no speed, runs are not paired, or there is no look after that round.
    """
    now = figures(runs, arm.replicas)
    if smoke:
        why = (f"not judged: {smoke}",)
        return ArmVerdict(arm, Verdict.INCONCLUSIVE, now, (), (), why, baseline, versus, tolerance=tolerance)
    # What may be spent at a look goes by the rounds measured; what the rest may tell, by those that will count.
    left_out = max(0, look.round - len(runs.throughput))
    ahead = replace(look, round=look.round - left_out, planned=look.planned - left_out)
    errors = errors_at(look, policy, hypotheses)
    last = errors_at(Look(look.planned, look.planned), policy, hypotheses)
    changes = definition_changes(baseline.definition, definition, arm.strategy) if baseline is not None else []
    known = None if changes else baseline
    wanted = [floor for floor in floors if not (own_reference and floor.kind == "efficiency")]
    found_floors = (judge_floor(floor, runs, arm.replicas, known, ahead, errors, last) for floor in wanted)
    judged = tuple(filter(None, found_floors))
    reasons = [floor_rules.reason(floor) for floor in judged]
    metrics: tuple[MetricVerdict, ...] = ()
    hope = False
    if baseline is None:
        verdict = Verdict.NO_BASELINE
        reasons.append(missing)
    elif known is None:
        verdict = Verdict.INCOMPARABLE
        reasons.append(f"{held_against} {measured_otherwise(changes, remedy)}")
    else:

        def of(these: PairedRuns, others: PairedRuns | None) -> tuple[MetricVerdict, ...]:
            found = compare_arm(these, known, others, arm.label, errors, own_reference=own_reference)
            told = (replace(one, rounds_needed=rounds_needed(one, found, tolerance, errors, last)) for one in found)
            return together(tuple(judge_metric(each, tolerance) for each in told))

        metrics = of(runs, against)
        verdict = next(
            each for each in _SEVERITY if any(metric.verdict is each and not metric.excused for metric in metrics)
        )
        reasons += [metric.reason for metric in metrics if metric.reason]
        if not look.last:
            hope = verdict is Verdict.INCONCLUSIVE and _hope(metrics, ahead, last)
            if verdict is Verdict.INCONCLUSIVE and not hope and (odd := odd_rounds(runs, known, ahead)):
                # Those runs may be left out later, so they take no hope away.
                there = without(against, odd) if against is not None else None
                hope = len(odd) == len(runs.throughput) or _hope(of(without(runs, odd), there), ahead, last)
            # What is all but lost is worth every round: a gate that gives up on it passes.
            hope |= verdict is Verdict.INCONCLUSIVE and any(_seems_lost(metric) for metric in metrics)
            # Nothing is lost, but it seems faster, which the first looks cannot show: worth the rounds that say so.
            hope |= verdict is Verdict.UNCHANGED and any(_seems_faster(metric) for metric in metrics)
    for open_or_missed in (Verdict.INCONCLUSIVE, Verdict.REGRESSED):
        if any(floor.verdict is open_or_missed for floor in judged) and verdict is not Verdict.REGRESSED:
            verdict = open_or_missed
    # Without a baseline the rounds are what the reader gets: all of them.
    still_open = (known is None and not look.last) or hope or any(floor.open for floor in judged)
    decided = ArmVerdict(
        arm,
        verdict,
        now,
        metrics,
        judged,
        tuple(filter(None, reasons)),
        baseline,
        versus,
        look,
        settled=verdict is Verdict.REGRESSED or not still_open,
        tolerance=tolerance,
    )
    return _undecided(decided, go_on=may_be_undisturbed and not look.last) if disturbed else decided


def measured_otherwise(changes: Iterable[tuple[str, str, str]], remedy: str = "") -> str:
    """Say what differs, as `definition_changes` gives it, and what to do about it."""
    different = [f"{key} was {before}, is {now}" for key, before, now in changes]
    return "measured something else: " + "; ".join([*different, *filter(None, [remedy])])


def hypotheses_of(replicas: Sequence[int], floors: int, *, own_reference: bool) -> int:
    """How many things a sweep has judged: T(1), T(N), E(N) and T(1) x T(N) of every arm, and every floor.

    Of an arm that is T(1) itself only that. T(1) counts for each arm: what counts is of rounds that count for both.

    Args:
        replicas: the selected counts.
        floors: how many floors those have together.
        own_reference: True where the count 1 is the reference itself.
    """
    own = own_reference and 1 in replicas
    return own + 4 * (len(replicas) - own) + floors


def judge_metric(comparison: Comparison, tolerance: float) -> MetricVerdict:
    """Size and certainty: regressed only beyond the tolerance *and* with an interval that excludes no change.

    A loss that is not the figure's own is no regression of it by itself: `together` asks what both lost.
    """
    change, assured = comparison.change, comparison.assured
    if change.value < 1 - tolerance and change.high < 1 and comparison.is_own:
        return MetricVerdict(comparison, Verdict.REGRESSED, tolerance)
    if change.value > 1 + tolerance and change.low > 1:
        return MetricVerdict(comparison, Verdict.IMPROVED, tolerance)
    if assured.low >= 1 - tolerance:
        return MetricVerdict(comparison, Verdict.UNCHANGED, tolerance)
    return MetricVerdict(comparison, Verdict.INCONCLUSIVE, tolerance, _why_undecided(comparison, tolerance))


def _why_undecided(comparison: Comparison, tolerance: float) -> str:
    label = comparison.label
    if isinf(comparison.change.high) and comparison.now.n < 2:
        return f"{label}: one run says nothing of its noise"
    loss = format_percent(max(0.0, 1 - comparison.assured.low))
    allowed = format_percent(tolerance)
    loss = f"a little over {loss}" if loss == allowed else f"up to {loss}"
    text = f"{label}: a loss of {loss} cannot be ruled out at this noise (tolerance {allowed}); "
    looks = 1 - comparison.change.value
    if looks > tolerance:
        text += f"it looks {format_percent(looks)} lower, and "
    if comparison.rounds_needed is not None and comparison.rounds_needed <= comparison.difference.runs:
        if looks <= tolerance:
            return text + "more rounds would probably rule it out"
        text += "more rounds would show whether it is"
        return text + (", or a baseline of more rounds" if comparison.sessions else "")
    if comparison.rounds_needed is not None:
        return text + f"about {plural(comparison.rounds_needed, 'round')} would decide"
    if looks > tolerance and (not comparison.is_own or -comparison.difference.log_ratio <= comparison.days):
        return text + "no number of rounds tells it from what another day may do: save on other days"
    if comparison.difference.between > comparison.difference.within:
        return (
            text + f"the {comparison.sessions} saved sessions differ too much among themselves for any number of rounds"
        )
    return text + "no number of rounds would decide: save a baseline with more, or widen the tolerance"


def _seems_faster(metric: MetricVerdict) -> bool:
    return not metric.excused and metric.comparison.change.value > 1 + metric.tolerance


def _seems_lost(metric: MetricVerdict) -> bool:
    """A loss beyond the tolerance and beyond the noise, though not by as much as an alarm takes."""
    comparison = metric.comparison
    return not metric.excused and comparison.change.value < 1 - metric.tolerance and comparison.assured.high < 1


def _hope(metrics: Sequence[MetricVerdict], look: Look, last: Errors) -> bool:
    """Whether further rounds may decide what is open: find a loss, or rule one out for all that is undecided."""
    company = len(metrics) > 1
    if any(may_alarm(metric.comparison, metric.tolerance, look, last, has_company=company) for metric in metrics):
        return True
    undecided = [metric for metric in metrics if metric.verdict is Verdict.INCONCLUSIVE and not metric.excused]
    # E(N) is excused as soon as T(1) and T(N) are decided, so those are what counts.
    counting = [metric for metric in undecided if metric.comparison.metric != "efficiency"] or undecided
    return all(may_be_assured(metric.comparison, metric.tolerance, look, last) for metric in counting)


def _undecided(decided: ArmVerdict, *, go_on: bool) -> ArmVerdict:
    """The figures stay, the decision goes: what was measured is not the code's speed.

    `go_on`: whether further rounds may be undisturbed ones, enough to decide by.
    """
    compared = decided.verdict not in (Verdict.NO_BASELINE, Verdict.INCOMPARABLE)
    floors = tuple(_open(floor) for floor in decided.floors)
    return replace(
        decided,
        verdict=Verdict.INCONCLUSIVE if compared or floors else decided.verdict,
        metrics=tuple(
            replace(metric, verdict=Verdict.INCONCLUSIVE, reason="", excused=False) for metric in decided.metrics
        ),
        floors=floors,
        reasons=("nothing is decided, as runs that count were disturbed", *(() if compared else decided.reasons)),
        settled=not go_on and (decided.settled or compared),
    )


def _open(floor: FloorVerdict) -> FloorVerdict:
    return replace(floor, verdict=Verdict.INCONCLUSIVE, open=False)
