"""Trends and change points as text, formatted once for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import geometric_mean

from pytest_tfperf.history.change_points import MIN_NIGHTS
from pytest_tfperf.history.changes import ArmTrend, Change
from pytest_tfperf.history.series import Night
from pytest_tfperf.records.comparison import Metric, Verdict
from pytest_tfperf.units import format_number, format_percent, plural

WORDS = {
    "open": "worse",
    "acknowledged": "worse, acknowledged",
    "recovered": "worse for a while",
    "explained": "lower only as T(1) got faster",
    "improved": "better",
}
VERDICTS = {"open": Verdict.REGRESSED, "acknowledged": Verdict.INCONCLUSIVE, "improved": Verdict.IMPROVED}
"""What a change point looks like, in a terminal and on the page; the others are plain."""


@dataclass(frozen=True)
class MetricText:
    """One figure of an arm."""

    metric: Metric
    label: str
    now: str
    """Its newest night: ``5 731 examples/s``."""
    nights: tuple[Night, ...]
    values: tuple[float, ...]
    levels: tuple[LevelText, ...]
    """Between the change points; the whole where there is none."""
    changes: tuple[ChangeText, ...]


@dataclass(frozen=True)
class LevelText:
    """Nights at one level, the geometric mean of which is `value`."""

    first: str
    last: str
    value: float


@dataclass(frozen=True)
class ChangeText:
    """One change point."""

    label: str
    date: str
    size: str
    """``-5.2 %``."""
    levels: str
    """``5 731 -> 5 433 examples/s``."""
    commits: str
    """``a1b2c3d..4fc4000``; empty outside a git repository."""
    versions: str
    state: str
    word: str
    note: str
    """Who acknowledged it, until when and why; empty where nobody did."""

    @property
    def line(self) -> str:
        parts = [f"{self.size} on {self.date} ({self.levels})", self.commits, self.versions, self.word, self.note]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class ArmText:
    """An arm."""

    name: str
    what: str
    """``resnet50 / multi_worker_mirrored``."""
    where: str
    span: str
    """``24 nights, 2026-10-28 to 2026-11-20``."""
    metrics: tuple[MetricText, ...]
    note: str
    """Why there are no change points; empty where they were looked for."""


def arm_text(trend: ArmTrend, today: str) -> ArmText:
    key, nights = trend.arm.key, trend.arm.nights
    first, last = nights[0].date, nights[-1].date
    span = f"{plural(len(nights), 'night')}, {first}" + (f" to {last}" if last != first else "")
    missing = "" if trend.enough else f"change points need {MIN_NIGHTS} nights, there {_are(len(nights))}"
    return ArmText(
        name=key.name,
        what=" / ".join(part for part in (key.workload, key.strategy, key.variant) if part),
        where=key.environment,
        span=span,
        metrics=tuple(_metric_text(trend, metric, today) for metric in trend.metrics),
        note=missing,
    )


def shown_value(metric: Metric, value: float) -> str:
    """A level of the metric as people read it, without its unit."""
    return f"{value:.3f}" if metric == "efficiency" else format_number(value)


def unit_of(metric: Metric) -> str:
    return "" if metric == "efficiency" else "examples/s"


def shown_commit(night: Night) -> str:
    return f"{night.commit[:7]}{'+' if night.dirty else ''}"


def change_text(change: Change, today: str) -> ChangeText:
    before, after = (shown_value(change.metric, exp(level.mean)) for level in (change.point.before, change.point.after))
    versions = ", ".join(f"{key} {old or 'not set'} -> {new or 'not set'}" for key, old, new in change.versions)
    word = WORDS[change.state]
    return ChangeText(
        label=change.label,
        date=change.night.date,
        size=format_percent(change.ratio - 1, signed=True),
        levels=f"{before} -> {after} {unit_of(change.metric)}".strip(),
        commits=_commits(change),
        versions=versions,
        state=change.state,
        word=word,
        note=_note(change, today),
    )


def _metric_text(trend: ArmTrend, metric: Metric, today: str) -> MetricText:
    nights = tuple(night for night in trend.arm.nights if metric in night.values)
    values = tuple(night.values[metric] for night in nights)
    changes = [change for change in trend.changes if change.metric == metric]
    now = f"{shown_value(metric, values[-1])} {unit_of(metric)}".strip() if values else "not measured"
    return MetricText(
        metric=metric,
        label=trend.arm.key.label(metric),
        now=now,
        nights=nights,
        values=values,
        levels=_levels([night.date for night in nights], values, changes),
        changes=tuple(change_text(change, today) for change in changes),
    )


def _levels(dates: Sequence[str], values: Sequence[float], changes: Sequence[Change]) -> tuple[LevelText, ...]:
    if not values:
        return ()
    if not changes:
        return (LevelText(dates[0], dates[-1], geometric_mean(values)),)
    found = [changes[0].point.before, *(change.point.after for change in changes)]
    return tuple(LevelText(dates[level.start], dates[level.end - 1], exp(level.mean)) for level in found)


def _commits(change: Change) -> str:
    before, after = shown_commit(change.night_before), shown_commit(change.night)
    if not before or not after:
        return ""
    return f"commit {after} as before" if before == after else f"commits {before}..{after}"


def _note(change: Change, today: str) -> str:
    known = change.acknowledgement
    if known is None:
        return ""
    until = f"until {known.until}" if known.until >= today else f"expired on {known.until}"
    return f"{until}: {known.reason} ({known.by}, {known.made[:10]})"


def _are(count: int) -> str:
    return f"is {count}" if count == 1 else f"are {count}"
