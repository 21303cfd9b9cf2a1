"""New measurements into a file's data: what is replaced, what stays, what has to go."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from pytest_tfperf.baseline.codec import Data, FileProblem, Key, Value
from pytest_tfperf.baseline.schema import ENTRY_KEYS, SCHEMA_VERSION, SERIES, TOP_KEYS, UNITS, BaselineFile
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.environment import Environment


def merged(data: Data | None, stored: BaselineFile | None, entries: Sequence[BaselineEntry]) -> tuple[Data, str]:
    """Data of the file with the entries in it, and a note where measurements had to go; "" where none had to.

    The other replica counts stay as they are, and hand-set limits always do. Where the definition changed, the other
    replica counts were measured on something else: their runs go, with a note, and only their hand-set limits stay.
    Raises FileProblem where the entries do not belong into one file, or not into this one.
    """
    first = entries[0]
    for entry in entries:
        for what, one, other in _identity(first, entry):
            if one != other:
                raise FileProblem(f"measurements of one session disagree on their {what}: {one} and {other}")
    counts = sorted(entry.replicas for entry in entries)
    if len(set(counts)) < len(counts):
        raise FileProblem(f"a replica count is given twice: {counts}")
    replicas: dict[Key, Value] = {}
    note = ""
    if data is not None and stored is not None:
        check_same_place(stored, (first.workload, first.strategy, first.variant), first.environment)
        replicas.update(_mapping(data["replicas"]))
        if dict(stored.definition) != dict(first.definition):
            note = _drop_stale(replicas, stored, first, counts)
    for entry in entries:
        limits = replicas.get(entry.replicas)
        replicas[entry.replicas] = _entry(entry, limits if isinstance(limits, dict) else None)
    fresh: Data = {
        "schema_version": SCHEMA_VERSION,
        "workload": first.workload,
        "strategy": first.strategy,
        "variant": first.variant,
        "definition": {key: first.definition[key] for key in sorted(first.definition)},
        "environment": {key: first.environment.hard[key] for key in sorted(first.environment.hard)},
        "units": dict(UNITS),
        "replicas": {count: replicas[count] for count in sorted(replicas, key=int)},
    }
    return {key: fresh[key] for key in TOP_KEYS}, note


def _identity(one: BaselineEntry, other: BaselineEntry) -> Iterable[tuple[str, object, object]]:
    yield "names", (one.workload, one.strategy, one.variant), (other.workload, other.strategy, other.variant)
    yield "hard environment", dict(one.environment.hard), dict(other.environment.hard)
    yield "definition", dict(one.definition), dict(other.definition)


def check_same_place(stored: BaselineFile, names: tuple[str, str, str | None] | None, environment: Environment) -> None:
    """Raise FileProblem where the file belongs to others whose file or folder just has the same name."""
    if names is not None and (stored.workload, stored.strategy, stored.variant) != names:
        raise FileProblem(
            f"it belongs to workload {stored.workload}, strategy {stored.strategy}, variant {stored.variant}; workload "
            f"{names[0]}, strategy {names[1]}, variant {names[2]} makes the same file name",
            remedy="Rename the workload or the variant.",
        )
    hard = environment.hard
    differing = [key for key in sorted({*stored.hard, *hard}) if stored.hard.get(key) != hard.get(key)]
    if differing:
        facts = ", ".join(f"{key} is {stored.hard.get(key)} there and {hard.get(key)} here" for key in differing)
        raise FileProblem(
            f"it was measured on another kind of machine whose folder has the same name: {facts}",
            remedy="Delete it and save anew, or keep this machine's baselines under another root folder.",
        )


def _drop_stale(replicas: dict[Key, Value], stored: BaselineFile, entry: BaselineEntry, counts: Sequence[int]) -> str:
    old, new = stored.definition, entry.definition
    absent = "(absent)"
    facts = ", ".join(
        f"{key} {old.get(key, absent)} -> {new.get(key, absent)}"
        for key in sorted({*old, *new})
        if old.get(key, absent) != new.get(key, absent)
    )
    dropped: list[str] = []
    for count, limits in stored.limits.items():
        if count in counts:
            continue
        if count in stored.entries:
            dropped.append(str(count))
        if limits.floor is None and limits.tolerance is None:
            del replicas[count]
        else:
            kept = _mapping(replicas[count])
            replicas[count] = {key: kept[key] for key in ENTRY_KEYS[:2]}
    if not dropped:
        return f"the definition changed ({facts})"
    return (
        f"the definition changed ({facts}), so the measurements of the other replica counts were removed: "
        f"{', '.join(dropped)}; save those again"
    )


def _entry(entry: BaselineEntry, stored: Mapping[Key, Value] | None) -> Data:
    # What a person wrote wins, null included: someone may have taken a floor away on purpose.
    limits: Data = (
        {key: stored[key] for key in ENTRY_KEYS[:2]}
        if stored is not None
        else {"efficiency_floor": entry.floor, "tolerance": entry.tolerance}
    )
    saved = entry.provenance
    soft = entry.environment.soft
    runs: Data = {key: [rounded(value) for value in getattr(entry, key)] for key in SERIES}
    return {
        **limits,
        "saved": {"date": saved.date, "commit": saved.commit, "dirty": saved.dirty, "test": saved.test},
        "soft": {key: soft[key] for key in sorted(soft)},
        "runs": runs,
        "derived": _derived(entry),
    }


def _derived(entry: BaselineEntry) -> Data:
    """Medians, the median of each round's efficiency, and how much the runs scatter; for readers only."""
    series: dict[str, tuple[float, ...]] = {key: getattr(entry, key) for key in SERIES}
    if entry.replicas < 1 or not all(values and all(0 < value < inf for value in values) for values in series.values()):
        return {}  # nothing to derive from; the check of what is to be written says what is wrong
    derived: Data = {}
    for key, values in series.items():
        derived[key] = rounded(statistics.median(values))
        if key.endswith("throughput"):
            spread = 100 * statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else None
            derived[f"{key}_cv_percent"] = None if spread is None else rounded(spread, 3)
    pairs = zip(entry.throughput, entry.reference_throughput)
    derived["efficiency"] = rounded(statistics.median(now / (entry.replicas * one) for now, one in pairs))
    return derived


def rounded(value: float, digits: int = 6) -> float | int:
    """The value to so many significant digits, as an int where nothing is left behind the point."""
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _mapping(value: Value) -> Data:
    assert isinstance(value, dict)  # checked when the file was read
    return value
