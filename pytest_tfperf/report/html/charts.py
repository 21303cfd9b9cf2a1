"""What charts show, as numbers for them and as tables for those who do not see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, median

from pytest_tfperf.report.document import Case, Figure
from pytest_tfperf.report.html.curves import efficiency_chart, scaling_chart
from pytest_tfperf.report.html.figure import Chart, Table, rounded
from pytest_tfperf.report.measured import MeasuredArm, MeasuredRun, MeasuredSweep
from pytest_tfperf.stats.summary import coefficient_of_variation
from pytest_tfperf.units import format_number, format_percent, format_seconds, plural

MOST_VALUES = 60
"""Step times that are drawn for a rank; of more, so many are taken evenly by order, least and most included."""

__all__ = ["Chart", "Figure", "Table", "charts"]


def charts(sweep: MeasuredSweep, cases: Sequence[Case]) -> tuple[Chart, ...]:
    """Those for which there is something to show."""
    judged = sorted((case for case in cases if case.judgement is not None), key=lambda case: case.replicas)
    found = (
        scaling_chart(sweep, judged),
        efficiency_chart(judged),
        runs_chart(sweep, _before(judged)),
        steps_chart(sweep),
    )
    return tuple(chart for chart in found if chart is not None)


def _before(judged: Sequence[Case]) -> str:
    return next((case.judgement.view.before for case in judged if case.judgement), "the other revision")


@dataclass(frozen=True)
class _Series:
    """The runs of an arm that gave a throughput."""

    name: str
    runs: tuple[MeasuredRun, ...]
    counting: tuple[MeasuredRun, ...]
    """Those of them that nothing disturbed; all, where something disturbed each."""
    mean: float
    """Of those."""

    def deviation(self, run: MeasuredRun) -> float:
        return run.throughput / self.mean - 1


def _series(sweep: MeasuredSweep, before: str) -> Iterator[_Series]:
    for arm in sweep.arms:
        for name, runs in ((arm.label, arm.runs), (f"{arm.label} at {before}", arm.against)):
            known = tuple(run for run in runs if isfinite(run.throughput) and run.throughput > 0)
            if known:
                quiet = tuple(run for run in known if not run.disturbances) or known
                yield _Series(name, known, quiet, fmean(run.throughput for run in quiet))


def runs_chart(sweep: MeasuredSweep, before: str) -> Chart | None:
    """Each run by its round, as the distance from its arm's mean, so that arms of any speed show their noise."""
    series = tuple(_series(sweep, before))
    if not series:
        return None
    rounds = sorted({run.round for each in series for run in each.runs})
    points = [
        {
            "round": run.round,
            "series": each.name,
            "value": rounded(100 * each.deviation(run)),
            "text": _speed(run),
            "disturbed": bool(run.disturbances),
        }
        for each in series
        for run in each.runs
    ]
    cells = [{run.round: _run_cell(each, run) for run in each.runs} for each in series]
    rows = [
        (str(number), *(", ".join(filter(None, [by_round.get(number)])) for by_round in cells)) for number in rounds
    ]
    if len(rounds) > 1:
        spread = [coefficient_of_variation([run.throughput for run in each.counting]) for each in series]
        rows.append(("coefficient of variation", *(format_percent(value) for value in spread)))
    table = Table(
        "Throughput of each run in examples/s, and its distance from the mean of its arm",
        ("round", *(each.name for each in series)),
        tuple(rows),
    )
    return Chart(
        "runs",
        "Runs by round",
        f"Throughput of each run of {plural(len(series), 'arm')} in {plural(len(rounds), 'round')}, as the distance "
        "from the mean of its arm in percent.",
        {"series": [each.name for each in series], "points": points},
        table,
        notes=tuple(_notes(sweep)),
    )


def _speed(run: MeasuredRun) -> str:
    return f"{format_number(run.throughput)} examples/s"


def _run_cell(series: _Series, run: MeasuredRun) -> str:
    return f"{format_number(run.throughput)} ({format_percent(series.deviation(run), signed=True)})"


def _notes(sweep: MeasuredSweep) -> Iterator[str]:
    """What is odd about runs: repeated, disturbed, with a warning."""
    for arm in sweep.arms:
        for run in arm.runs:
            odd = [*run.disturbances, *run.warnings]
            if run.attempts > 1:
                which = "the last" if run.disturbances else "what counts"
                odd.insert(0, f"attempt {run.attempts} is {which}")
            if odd:
                yield f"{arm.label}, round {run.round}: {'; '.join(odd)}"


def steps_chart(sweep: MeasuredSweep) -> Chart | None:
    """Step times of each rank in all windows of all runs, and how long its own part of a step takes."""
    ranks = [rank for arm in sweep.arms for rank in _ranks(arm)]
    if not ranks:
        return None
    points = [
        {
            "row": f"{rank.arm} {rank.task}",
            "arm": rank.arm,
            "values": [rounded(value) for value in _thinned(rank.steps)],
            "median": rounded(median(rank.steps)),
            "own": None if rank.own is None else rounded(rank.own),
            "text": format_seconds(median(rank.steps)),
            "own_text": "" if rank.own is None else format_seconds(rank.own),
        }
        for rank in ranks
    ]
    rows = tuple(
        (
            *(rank.arm, rank.task, str(len(rank.steps))),
            *(format_seconds(value) for value in (min(rank.steps), median(rank.steps), max(rank.steps))),
            "" if rank.own is None else format_seconds(rank.own),
        )
        for rank in ranks
    )
    table = Table(
        "Step time of each rank in the timed windows of all runs, and the median over runs of its own step time, "
        "which waits for no other rank",
        ("arm", "rank", "windows", "least", "median", "most", "own step time"),
        rows,
    )
    return Chart(
        "steps",
        "Step times by rank",
        f"Distribution of the step time of {plural(len(ranks), 'rank')} over timed windows.",
        {"series": list(dict.fromkeys(rank.arm for rank in ranks)), "ranks": points},
        table,
        lines=len(ranks),
    )


@dataclass(frozen=True)
class _Rank:
    """A task of an arm, over all its runs; seconds."""

    arm: str
    task: str
    steps: Sequence[float]
    """In ascending order."""
    own: float | None


def _ranks(arm: MeasuredArm) -> Iterator[_Rank]:
    steps: dict[str, list[float]] = {}
    own: dict[str, list[float]] = {}
    for run in arm.runs:
        for task in run.tasks:
            # One window without a step, from a file of elsewhere, must not cost the page.
            times = [(end - start) / count for start, end, count in task.windows if count > 0]
            steps.setdefault(task.task, []).extend(value for value in times if isfinite(value))
            if task.own_step_time is not None and isfinite(task.own_step_time):
                own.setdefault(task.task, []).append(task.own_step_time)
    for task_name, values in steps.items():
        if values:
            yield _Rank(arm.label, task_name, sorted(values), _median(own, task_name))


def _median(values: Mapping[str, Sequence[float]], key: str) -> float | None:
    return median(values[key]) if values.get(key) else None


def _thinned(values: Sequence[float]) -> Sequence[float]:
    if len(values) <= MOST_VALUES:
        return values
    return [values[round(index * (len(values) - 1) / (MOST_VALUES - 1))] for index in range(MOST_VALUES)]
