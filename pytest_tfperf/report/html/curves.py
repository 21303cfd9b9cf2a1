"""How throughput and efficiency grow with replicas: now, before, ideally and at least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from pytest_tfperf.report.document import Case, Figure, Judgement
from pytest_tfperf.report.html.figure import Chart, Table, rounded
from pytest_tfperf.report.measured import MeasuredSweep
from pytest_tfperf.report.rows import with_noise
from pytest_tfperf.stats.summary import geometric_mean
from pytest_tfperf.units import format_number

IDEAL = "ideal, N x T(1)"
FLOOR = "floor"
NOW = "now"


@dataclass(frozen=True)
class _Point:
    """A figure at a replica count; examples/s, or a ratio."""

    series: str
    replicas: int
    value: float
    text: str
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, series: str, replicas: int, figure: Figure) -> _Point:
        return cls(series, replicas, figure.value, figure.text, figure.low, figure.high)

    def plain(self) -> dict[str, object]:
        return {
            "series": self.series,
            "n": self.replicas,
            "value": rounded(self.value),
            "low": rounded(self.low),
            "high": rounded(self.high),
            "text": self.text,
        }


def scaling_chart(sweep: MeasuredSweep, judged: Sequence[Case]) -> Chart | None:
    """T(N) over N; None where there is only one count."""
    points = [point for point in _scaling(sweep, judged) if isfinite(point.value) and point.value > 0]
    if len({point.replicas for point in points if point.series == NOW}) < 2:
        return None
    return Chart(
        "scaling",
        "Scaling",
        f"Throughput of {sweep.workload} under {sweep.strategy} by replica count, with 95 % intervals, beside "
        + ", ".join(series for series in _names(points) if series != NOW)
        + ".",
        {"series": _names(points), "points": [point.plain() for point in points]},
        _table("Throughput of the whole job in examples/s by replica count", points),
    )


def _scaling(sweep: MeasuredSweep, judged: Sequence[Case]) -> Iterator[_Point]:
    judgements = [(case.replicas, case.judgement) for case in judged if case.judgement is not None]
    if not judgements:
        return
    before = judgements[0][1].view.before
    last = judgements[-1][1]
    if all(replicas != 1 for replicas, _ in judgements):
        yield _Point.of(NOW, 1, last.reference)
        yield from (_Point.of(before, 1, then) for then in _baseline(last, "reference"))
    for replicas, judgement in judgements:
        yield _Point.of(NOW, replicas, judgement.throughput)
        kind = "throughput" if any(each.metric == "throughput" for each in judgement.metrics) else "reference"
        yield from (_Point.of(before, replicas, then) for then in _baseline(judgement, kind))
    for arm in sweep.arms:
        known = [run for run in arm.runs if isfinite(run.throughput) and run.throughput > 0]
        values = [run.throughput for run in known if not run.disturbances] or [run.throughput for run in known]
        if arm.role == "versus" and values:
            mean = geometric_mean(values, 0.95)
            low, high = (mean.low, mean.high) if isfinite(mean.high) else (None, None)
            name = arm.label.partition(" ")[2] or arm.strategy
            yield _Point(f"versus {name}", arm.replicas, mean.value, with_noise(mean), low, high)
    one = last.reference.value
    for replicas in sorted({1, *(replicas for replicas, _ in judgements)}):
        yield _Point(IDEAL, replicas, replicas * one, format_number(replicas * one))
    for replicas, judgement in judgements:
        for floor in _floors(judgement, replicas):
            yield _Point(FLOOR, replicas, floor * replicas * one, format_number(floor * replicas * one))


def efficiency_chart(judged: Sequence[Case]) -> Chart | None:
    """E(N) by N; None where every arm is its own reference."""
    points = [point for point in _efficiencies(judged) if isfinite(point.value)]
    if not points:
        return None
    return Chart(
        "efficiency",
        "Scaling efficiency",
        "Scaling efficiency E(N) by replica count with 95 % intervals; 1 is ideal.",
        {"series": _names(points), "points": [point.plain() for point in points]},
        _table("Scaling efficiency E(N), a fraction of N x T(1), by replica count", points, intervals=True),
    )


def _efficiencies(judged: Sequence[Case]) -> Iterator[_Point]:
    for case in judged:
        judgement = case.judgement
        if judgement is None or all(row.label != f"E({case.replicas})" for row in judgement.view.rows):
            continue
        yield _Point.of(NOW, case.replicas, judgement.efficiency)
        before = judgement.view.before
        yield from (_Point.of(before, case.replicas, then) for then in _baseline(judgement, "efficiency"))
        for floor in _floors(judgement, case.replicas):
            yield _Point(FLOOR, case.replicas, floor, format_number(floor, 3))


def _baseline(judgement: Judgement, metric: str) -> Iterator[Figure]:
    return (each.baseline for each in judgement.metrics if each.metric == metric)


def _floors(judgement: Judgement, replicas: int) -> Iterator[float]:
    return (floor.floor for floor in judgement.floors if floor.label == f"E({replicas})" and isfinite(floor.floor))


def _names(points: Sequence[_Point]) -> list[str]:
    """Series in the order of their first points, so measured ones before what they are held against."""
    return list(dict.fromkeys(point.series for point in points))


def _table(caption: str, points: Sequence[_Point], *, intervals: bool = False) -> Table:
    names = _names(points)
    cells: dict[tuple[int, str], str] = {}
    for point in points:
        text = point.text
        if intervals and point.low is not None and point.high is not None:
            text += f" [{format_number(point.low, 3)}, {format_number(point.high, 3)}]"
        cells[point.replicas, point.series] = text
    counts = sorted({point.replicas for point in points})
    rows = tuple((str(count), *(cells.get((count, name), "") for name in names)) for count in counts)
    return Table(caption, ("replicas", *names), rows)
