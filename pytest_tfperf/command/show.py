"""`tfperf show`: baselines as a table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tfperf.baseline.listing import baseline_files
from pytest_tfperf.baseline.reading import Reader
from pytest_tfperf.baseline.schema import BaselineFile, Limits
from pytest_tfperf.command.codes import FINE, UNREADABLE
from pytest_tfperf.command.printing import columns, complain
from pytest_tfperf.command.sides import looks_like_json
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.report.rows import with_noise
from pytest_tfperf.units import format_percent

if TYPE_CHECKING:
    from pytest_tfperf.command.program import Subparsers

_HEADER = ("workload", "strategy", "variant", "N", "T(1) examples/s", "T(N) examples/s", "E(N)", "floor", "tolerance")
_SAVED = ("sessions", "newest", "commit")
_RIGHT = ("N", "T(1) examples/s", "T(N) examples/s", "E(N)", "floor", "tolerance", "sessions")


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "show",
        help="baselines as a table",
        description="Show what baselines hold: T(1), T(N) and E(N) as means of their sessions, +- half the 95 % "
        "interval of the mean over all runs, and the floor and tolerance that were set by hand.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="DIR or FILE",
        type=Path,
        default=[Path("baselines")],
        help="a baselines' folder, an environment's folder in it, or a baseline file (default: baselines)",
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects, one for each replica count")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    shown = _Shown([], 0)
    for path in given.paths:
        _look(path, shown)
    if given.json:
        print(json.dumps([_object(path, file, count) for path, file, count in _arms(shown.files)], indent=2))
    else:
        for line in _table(shown.files):
            print(line)
    return UNREADABLE if shown.unreadable else FINE


@dataclass
class _Shown:
    files: list[tuple[Path, BaselineFile]]
    unreadable: int


def _look(path: Path, shown: _Shown) -> None:
    """One broken file hides no other."""
    reader = Reader()
    try:
        paths = baseline_files(path) if path.is_dir() or not path.exists() else [path]
        if looks_like_json(path):
            raise BaselineError(f"{path}: is JSON and no baseline; `tfperf report` shows what --tfperf-json wrote")
        if not paths:
            raise BaselineError(f"{path}: no baselines in this folder; pytest --tfperf-save writes them")
    except BaselineError as error:
        complain(error)
        shown.unreadable += 1
        return
    for each in paths:
        try:
            shown.files.append((each, reader.anywhere(each)))
        except BaselineError as error:
            complain(error)
            shown.unreadable += 1


def _arms(files: Sequence[tuple[Path, BaselineFile]]) -> Iterator[tuple[Path, BaselineFile, int]]:
    """Every replica count that has runs or limits."""
    for path, file in files:
        for count in sorted({*file.entries, *file.limits}):
            yield path, file, count


def _table(files: Sequence[tuple[Path, BaselineFile]]) -> Iterator[str]:
    """A table for each environment, under its name."""
    by_name = sorted(files, key=lambda each: (_environment(each[1]), each[1].name, str(each[0])))
    for number, (name, group) in enumerate(groupby(by_name, key=lambda each: _environment(each[1]))):
        if number:
            yield ""
        yield name
        rows = [_row(file, count) for _, file, count in _arms(list(group))]
        yield from (f"  {line}" for line in columns((*_HEADER, *_SAVED), rows, right=_RIGHT))
    if files:
        yield "+- half the 95 % interval of the mean over runs"


def _environment(file: BaselineFile) -> str:
    return Environment(file.hard, {}).name


def _row(file: BaselineFile, count: int) -> tuple[str, ...]:
    limits, entry = file.limits.get(count, Limits()), file.entries.get(count)
    names = (file.workload, file.strategy, file.variant or "", str(count))
    floor = "" if limits.floor is None else f"{limits.floor:.3f}"
    tolerance = "" if limits.tolerance is None else format_percent(limits.tolerance)
    if entry is None:
        return (*names, "no runs", "", "", floor, tolerance, "0", "", "")
    from pytest_tfperf.comparison.effect import stored_figures

    figures, saved = stored_figures(entry), entry.provenance
    forced = _forced(entry)
    return (
        *names,
        with_noise(figures.reference),
        with_noise(figures.throughput),
        "" if entry.is_own_reference else _efficiency(figures.efficiency),
        floor,
        tolerance,
        str(len(entry.sessions)) + (f" ({forced} by force)" if forced else ""),
        saved.date[:10],
        saved.commit[:7] + (" with changes" if saved.dirty else ""),
    )


def _forced(entry: BaselineEntry) -> int:
    """Sessions that were saved by force."""
    return sum(bool(session.provenance.forced) for session in entry.sessions)


def _efficiency(estimate: Estimate) -> str:
    """As in a gate's table, three digits, with its noise."""
    noise = estimate.half_width
    return f"{estimate.value:.3f}" + (f" +- {format_percent(noise)}" if noise < 1 else "")


def _object(path: Path, file: BaselineFile, count: int) -> dict[str, object]:
    limits, entry = file.limits.get(count, Limits()), file.entries.get(count)
    found: dict[str, object] = {
        "file": str(path),
        "environment": _environment(file),
        "hard": dict(file.hard),
        "workload": file.workload,
        "strategy": file.strategy,
        "variant": file.variant,
        "replicas": count,
        "definition": dict(file.definition),
        "efficiency_floor": limits.floor,
        "tolerance": limits.tolerance,
        "sessions": 0,
        "forced": 0,
    }
    if entry is None:
        return found
    from pytest_tfperf.comparison.effect import stored_figures

    figures, saved = stored_figures(entry), entry.provenance
    return {
        **found,
        "reference_throughput": _interval(figures.reference),
        "throughput": _interval(figures.throughput),
        "efficiency": _interval(figures.efficiency),
        "step_time": _interval(figures.step_time),
        "sessions": len(entry.sessions),
        "forced": _forced(entry),
        "newest": {
            "date": saved.date,
            "commit": saved.commit,
            "dirty": saved.dirty,
            "test": saved.test,
            "forced": saved.forced,
        },
    }


def _interval(estimate: Estimate) -> dict[str, float | int | None]:
    """Examples/s, seconds or a ratio; the bounds are null where one run shows no noise."""
    known = estimate.half_width < float("inf")
    return {
        "value": estimate.value,
        "low": estimate.low if known else None,
        "high": estimate.high if known else None,
        "confidence": estimate.confidence,
        "runs": estimate.n,
    }
