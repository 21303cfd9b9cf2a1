"""Change points of every arm, with what is known of each: commits, versions, and whether it still counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Literal

from pytest_tfperf.history.acknowledgements import Acknowledgement
from pytest_tfperf.history.change_points import MIN_CHANGE, MIN_NIGHTS, ChangePoint, find_change_points
from pytest_tfperf.history.reading import Stored
from pytest_tfperf.history.series import ArmHistory, ArmKey, Night
from pytest_tfperf.records.comparison import Metric

State = Literal["open", "acknowledged", "recovered", "explained", "improved"]
"""Of a change point: `open` is a loss that counts; `recovered` one that later changes made good; `explained` a fall of
E(N) alone that comes from a faster T(1)."""

NEAR_NIGHTS = 3
"""Two change points this near may be one: the place of a small change is known to some nights only."""
GROWTH = 1.5
"""How much larger than when it was acknowledged a change may be found to be, and still be the one that is known."""


@dataclass(frozen=True)
class Change:
    """One change point."""

    key: ArmKey
    metric: Metric
    point: ChangePoint
    night_before: Night
    night: Night
    """The first one at the new level."""
    state: State
    acknowledgement: Acknowledgement | None = None
    """The newest that is about it; it may have expired."""

    @property
    def label(self) -> str:
        return self.key.label(self.metric)

    @property
    def ratio(self) -> float:
        """Level after / level before."""
        return exp(self.point.log_change)

    @property
    def versions(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """Soft keys of the environment that changed with it: key, before, after."""
        old, new = self.night_before.soft, self.night.soft
        keys = sorted({*old, *new} - {"commit"})
        return tuple((key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))


@dataclass(frozen=True)
class ArmTrend:
    """An arm with its change points, in the order of its metrics and then of time."""

    arm: ArmHistory
    metrics: tuple[Metric, ...]
    """T(1) only with one arm of a sweep, as all have the same."""
    changes: tuple[Change, ...]

    @property
    def enough(self) -> bool:
        """Whether there are nights enough to look for change points."""
        return len(self.arm.nights) >= MIN_NIGHTS


def trends(stored: Stored, today: str) -> tuple[ArmTrend, ...]:
    """Look for change points in all that was read; the error is held over all of it."""
    tellers = _tellers(stored.arms)
    chosen = {
        arm.key: tuple(metric for metric in arm.metrics if metric != "reference" or tellers[arm.key.sweep] is arm)
        for arm in stored.arms
    }
    series = sum(len(metrics) for arm, metrics in zip(stored.arms, chosen.values()) if len(arm.nights) >= MIN_NIGHTS)
    points = {arm.key: {metric: _points(arm, metric, series) for metric in chosen[arm.key]} for arm in stored.arms}
    references: dict[tuple[str, ...], list[tuple[str, ChangePoint]]] = defaultdict(list)
    for arm in stored.arms:
        for point in points[arm.key].get("reference", ()):
            references[arm.key.sweep].append((_nights(arm, "reference")[point.index].date, point))
    return tuple(
        ArmTrend(
            arm,
            chosen[arm.key],
            tuple(
                change
                for metric in chosen[arm.key]
                for change in _changes(arm, metric, points[arm.key], references[arm.key.sweep], stored, today)
            ),
        )
        for arm in stored.arms
    )


def open_changes(found: Iterable[ArmTrend]) -> tuple[Change, ...]:
    """Losses that nobody has acknowledged, or not for long enough."""
    return tuple(change for trend in found for change in trend.changes if change.state == "open")


def log_values(arm: ArmHistory, metric: Metric) -> list[float]:
    """Of the nights that have the metric."""
    return [log(night.values[metric]) for night in _nights(arm, metric)]


def _nights(arm: ArmHistory, metric: Metric) -> list[Night]:
    return [night for night in arm.nights if night.values.get(metric, 0.0) > 0]


def _tellers(arms: Iterable[ArmHistory]) -> dict[tuple[str, ...], ArmHistory]:
    """By sweep, the arm that T(1) is told with: the one with the most nights, the fewest replicas among these."""
    found: dict[tuple[str, ...], ArmHistory] = {}
    for arm in arms:
        best = found.setdefault(arm.key.sweep, arm)
        if (len(arm.nights), -arm.key.replicas) > (len(best.nights), -best.key.replicas):
            found[arm.key.sweep] = arm
    return found


def _points(arm: ArmHistory, metric: Metric, series: int) -> tuple[ChangePoint, ...]:
    return find_change_points(log_values(arm, metric), series)


def _changes(
    arm: ArmHistory,
    metric: Metric,
    points: Mapping[Metric, tuple[ChangePoint, ...]],
    references: Sequence[tuple[str, ChangePoint]],
    stored: Stored,
    today: str,
) -> Iterable[Change]:
    nights = _nights(arm, metric)
    own = points[metric]
    for number, point in enumerate(own):
        night = nights[point.index]
        known = _acknowledgement(arm, metric, point, nights, stored.acknowledgements)
        state: State = "open"
        if point.log_change > 0:
            state = "improved"
        elif _recovered(point, own[number + 1 :]):
            state = "recovered"
        elif metric == "efficiency" and _explained(arm, night, points, references):
            state = "explained"
        elif known is not None and known.until >= today:
            state = "acknowledged"
        yield Change(arm.key, metric, point, nights[point.index - 1], night, state, known)


def _recovered(point: ChangePoint, later: Sequence[ChangePoint]) -> bool:
    """Whether the level has been as good again since."""
    return any(other.after.mean >= point.before.mean - MIN_CHANGE for other in later)


def _explained(
    arm: ArmHistory,
    night: Night,
    points: Mapping[Metric, tuple[ChangePoint, ...]],
    references: Sequence[tuple[str, ChangePoint]],
) -> bool:
    """Whether E(N) fell as T(1) rose, and T(N) lost nothing: nothing got slower then, as in a gate's verdict."""
    dates = [each.date for each in arm.nights]

    def near(date: str) -> bool:
        return abs(_place(dates, date) - _place(dates, night.date)) <= NEAR_NIGHTS

    own = _nights(arm, "throughput")
    slower = any(point.log_change < 0 and near(own[point.index].date) for point in points.get("throughput", ()))
    return not slower and any(point.log_change > 0 and near(date) for date, point in references)


def _acknowledgement(
    arm: ArmHistory, metric: Metric, point: ChangePoint, nights: Sequence[Night], made: Sequence[Acknowledgement]
) -> Acknowledgement | None:
    """The newest that is about this change: near its place, in its direction, and not much smaller."""
    key, dates = arm.key, [night.date for night in nights]
    return next(
        (
            each
            for each in reversed(made)
            if (each.metric, each.test, each.device) == (metric, key.test, key.device)
            and (metric == "reference" or each.replicas == key.replicas)
            and each.environment_digest == key.environment_digest
            and each.definition_digest == key.definition_digest
            and abs(_place(dates, each.date) - point.index) <= NEAR_NIGHTS
            and 0 < point.log_change / each.log_change <= GROWTH
        ),
        None,
    )


def _place(dates: Sequence[str], date: str) -> int:
    """How many nights are before this date."""
    return sum(each < date for each in dates)
