"""One view of a verdict: all text and numbers formatted once; the writers only arrange it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isinf

from pytest_tfperf.diagnosis.moved import what_moved
from pytest_tfperf.records.against import Revision
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import ArmVerdict, FloorVerdict, MetricVerdict, Verdict
from pytest_tfperf.records.environment import Change, Environment
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.units import format_confidence, format_number, format_percent, format_points, format_seconds, plural


@dataclass(frozen=True)
class Row:
    """One figure: then, now and the difference, as text."""

    label: str
    """``T(1)``, ``T(4)``, ``E(4)``, ``S(4)``."""
    unit: str
    """Of what is beside it; empty for a ratio."""
    baseline: str
    """Empty where there is nothing to compare with."""
    now: str
    """What was measured."""
    change: str
    """In percent, or points of an efficiency."""
    interval: str
    """Of the change, in the same unit."""
    verdict: str
    """With what there is to say of it, for instance its tolerance."""
    severity: Verdict | None
    """What colours the row; null for none."""


_UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.INCOMPARABLE)


@dataclass(frozen=True)
class ArmView:
    """Everything a reader gets to see of one arm."""

    title: str
    """Workload, strategy, devices, and where there is one the variant and the other revision."""
    verdict: Verdict
    """Of the arm."""
    rows: tuple[Row, ...]
    """The table."""
    notes: tuple[str, ...]
    """What there is to say, a sentence or more each."""
    details: tuple[str, ...]
    """What is known of the arm beyond its speed: variables, bytes, links."""
    legend: str
    """What +- and [ ] mean."""
    footer: str
    """Rounds, time, and the command that measures it again."""
    before: str = "baseline"
    """What the figures are held against, for the column's head."""
    findings: tuple[str, ...] = ()
    """Those of the notes that are shown for a passed arm too: stragglers, disturbed runs, too good scaling, and why
    nothing was decided.
    """

    @property
    def headline(self) -> str:
        """One line for lists of failures, what moved first: pytest's own list cuts it at the terminal's width."""
        bad = [row for row in self.rows if row.severity is Verdict.REGRESSED]
        moved = ", ".join(f"{row.label} {row.change}" if row.change else f"{row.label} {row.now}" for row in bad)
        return f"{self.verdict}{f' ({moved})' if moved else ''}: {self.title}"


def arm_view(
    verdict: ArmVerdict,
    *,
    environment: Environment,
    soft_changes: Sequence[Change],
    warnings: Sequence[str],
    details: Sequence[str],
    rounds: int,
    seconds: float,
    command: str,
    against: Revision | None = None,
    findings: Sequence[str] = (),
    planned: int | None = None,
    strict: str = "",
    variant: str | None = None,
) -> ArmView:
    """Make the view; `seconds` is what the sweep took until it was decided, `command` reruns just this arm.

    `planned` rounds might have been measured; None: as many as were. `strict` is what is not decided, where that fails
    the test.
    With `against`, what the verdict was held against is no stored baseline but that revision, in the same rounds.
    """
    arm = verdict.arm
    devices = environment.hard.get("gpu_model") if arm.device == "gpu" else environment.hard.get("cpu_model")
    count = f"{arm.replicas} x " if arm.device == "gpu" else f"{plural(arm.replicas, 'CPU rank')} on "
    notes = [what_moved(verdict), *findings, *(f"{_capital(reason)}." for reason in verdict.reasons)]
    notes += [f"Odd: {warning}." for warning in warnings]
    # Failed, as under --tfperf-strict, such a verdict is told with its notes; passed, nobody would see its reasons.
    told = [f"{_capital(reason)}." for reason in verdict.reasons if not strict and verdict.verdict in _UNDECIDED]
    if strict:
        notes.append(f"--tfperf-strict is on: it fails a test for what is not decided, here {strict}.")
    if verdict.baseline is not None:
        since = _since(verdict.baseline) if against is None else str(against)
        notes.append(f"Since {since}: {_changes(soft_changes)}.")
    versus = f", against {against}" if against is not None else ""
    named = f", variant {variant}" if variant else ""  # variants of one workload look the same otherwise
    compared = bool(verdict.metrics)
    return ArmView(
        title=f"{arm.workload} / {arm.strategy} / {count}{devices}{named}{versus}",
        verdict=verdict.verdict,
        rows=_rows(verdict),
        notes=tuple(note for note in notes if note),
        details=tuple(details),
        findings=(*findings, *told),
        legend=_legend(verdict, compared),
        footer=f"{_rounds(rounds, planned)} in {format_seconds(seconds)}{versus}. Again: {command}",
        before="baseline" if against is None else against.name,
    )


def _rows(verdict: ArmVerdict) -> tuple[Row, ...]:
    if verdict.metrics:
        # What T(1) and T(N) have in common is a row only where it says more than they do.
        shown = [metric for metric in verdict.metrics if metric.comparison.metric != "common" or not metric.excused]
        compared = tuple(_compared(metric, _floor_of(verdict, metric.comparison.label)) for metric in shown)
        return (*compared, *_speedup(verdict))
    figures, arm = verdict.figures, verdict.arm
    rows = [_alone("T(1)", "examples/s", with_noise(figures.reference))]
    if not arm.is_reference:
        rows.append(_alone(arm.label, "examples/s", with_noise(figures.throughput)))
        now = f"{figures.efficiency.value:.3f}"
        rows.append(_alone(f"E({arm.replicas})", "", now, _floor_of(verdict, f"E({arm.replicas})")))
    return (*rows, *_speedup(verdict))


def _speedup(verdict: ArmVerdict) -> tuple[Row, ...]:
    """How many times the arm is as fast as what it is held against."""
    seen = verdict.figures.speedup
    if seen is None:
        return ()
    label = f"S({verdict.arm.replicas})"
    return (_alone(label, f"x {verdict.versus}", with_noise(seen), _floor_of(verdict, label)),)


def _floor_of(verdict: ArmVerdict, label: str) -> FloorVerdict | None:
    return next((floor for floor in verdict.floors if floor.label == label), None)


def _compared(metric: MetricVerdict, floor: FloorVerdict | None) -> Row:
    comparison = metric.comparison
    change, before = comparison.change, comparison.baseline
    text, severity = str(metric.verdict), metric.verdict
    if metric.excused:
        others = f"T(1) and {comparison.label.replace('E', 'T', 1)}"
        severity = Verdict.UNCHANGED
        text = f"open, but {others} lost nothing"
        if metric.verdict is Verdict.REGRESSED:
            text = f"{metric.verdict}, but only as T(1) got faster"
    elif metric.verdict is Verdict.REGRESSED:
        text += f", tolerance {format_percent(metric.tolerance)}"
    if comparison.metric != "efficiency":
        return Row(
            comparison.label,
            "examples/s",
            with_noise(before),
            with_noise(comparison.now),
            format_percent(change.value - 1, signed=True),
            _interval(100 * (change.low - 1), 100 * (change.high - 1)),
            text,
            severity,
        )
    floor_text, missed = _floor_text(floor)
    return Row(
        comparison.label,
        "",
        f"{before.value:.3f}",
        f"{comparison.now.value:.3f}",
        format_points(before.value * (change.value - 1)),
        _interval(100 * before.value * (change.low - 1), 100 * before.value * (change.high - 1)),
        text + (", and " + floor_text if floor_text else ""),
        Verdict.REGRESSED if missed else severity,
    )


def _alone(label: str, unit: str, now: str, floor: FloorVerdict | None = None) -> Row:
    text, missed = _floor_text(floor)
    return Row(label, unit, "", now, "", "", text, Verdict.REGRESSED if missed else None)


def _floor_text(floor: FloorVerdict | None) -> tuple[str, bool]:
    """Words for the last column, and whether the floor is missed."""
    if floor is None or floor.verdict is Verdict.UNCHANGED:
        return "", False
    if floor.verdict is Verdict.REGRESSED:
        return f"under its floor {floor.floor:.3f}", True
    return f"not sure to be over its floor {floor.floor:.3f}", False


def with_noise(estimate: Estimate) -> str:
    """A throughput or a ratio, and half its interval as far as it is known: ``17 940 +- 0.8 %``."""
    value, noise = format_number(estimate.value), estimate.half_width
    if isinf(noise):
        return value
    return f"{value} +- {format_percent(noise)}" if noise < 1 else f"{value} +- over 100 %"


def _interval(low: float, high: float) -> str:
    """In percent or points; none where it has no end, or none that a number can hold."""
    if not (isfinite(low) and isfinite(high)):
        return "[no interval]"
    return f"[{low:+.1f}, {f'{high:+.1f}' if high < 1000 else 'over +1000'}]"


def _legend(verdict: ArmVerdict, compared: bool) -> str:
    legend = "+- half the 95 % interval of the mean over runs"
    known = [metric.comparison for metric in verdict.metrics if not isinf(metric.comparison.change.high)]
    if not compared or not known:
        return legend
    legend += f"; [ ] the {format_confidence(known[0].change.confidence)} interval of the change"
    # E(N) is asked about both ways, so each of its ends may be wrong half as often.
    other = next((each for each in known if each.change.confidence != known[0].change.confidence), None)
    legend += f", for {other.label} {format_confidence(other.change.confidence)}" if other else ""
    unknown = next((each for each in known if each.days and each.metric != "common"), None)
    if unknown:
        say = "session says" if unknown.sessions == 1 else "sessions say"
        least = format_percent(unknown.days, decimals=0)
        legend += f"; at least {least} where a day may do it, of which {unknown.sessions} {say} little"
    days = dict.fromkeys(format_confidence(each.day_confidence) for each in known if each.day_confidence is not None)
    return legend + (f"; as far as sessions differ, {' or '.join(days)}" if days else "")


def _since(baseline: BaselineEntry) -> str:
    saved = baseline.provenance
    commit = f" ({saved.commit[:7]}{', with uncommitted changes' if saved.dirty else ''})" if saved.commit else ""
    count = len(baseline.sessions)
    since = "the baseline of" if count == 1 else f"the newest of {count} sessions,"
    return f"{since} {saved.date[:10]}{commit}"


def _changes(changes: Sequence[Change]) -> str:
    what = ", ".join(f"{key} {old or 'not set'} -> {new or 'not set'}" for key, old, new in changes)
    return what or "no version or setting changed"


def _rounds(measured: int, planned: int | None) -> str:
    return plural(measured, "round") if planned in (None, measured) else f"{measured} of {plural(planned, 'round')}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
