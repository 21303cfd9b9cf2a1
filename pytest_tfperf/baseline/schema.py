"""What a baseline file must hold, checked key by key, and how older files become this version."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from pytest_tfperf.baseline.codec import Data, Document, FileProblem, Path, Value
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.baseline import BaselineEntry, Provenance
from pytest_tfperf.records.environment import Environment

# History of the format:
# 1: workload, strategy, variant, definition, environment, units and, per replica count, the hand-set limits,
#    provenance, soft environment and the values of every round.
SCHEMA_VERSION = 1

MIGRATIONS: Mapping[int, Callable[[Data], Data]] = {}
"""Version to the function that makes a document of the next version from it; applied in memory by every read."""

UNITS: Data = {"throughput": "examples/s", "step_time": "s", "efficiency": 1}
SERIES = ("reference_throughput", "reference_step_time", "throughput", "step_time")
TOP_KEYS = ("schema_version", "workload", "strategy", "variant", "definition", "environment", "units", "replicas")
ENTRY_KEYS = ("efficiency_floor", "tolerance", "saved", "soft", "runs", "derived")

SMALLEST, LARGEST = 1e-12, 1e12
"""Bounds of a believable value, in examples/s and in seconds alike."""


@dataclass(frozen=True)
class Limits:
    """What a person wrote into the file; both None where nobody did."""

    floor: float | None = None
    """Floor of E(N) as a fraction."""
    tolerance: float | None = None
    """Largest relative loss that is no regression, as a fraction."""


@dataclass(frozen=True)
class BaselineFile:
    """A file's content, checked."""

    workload: str
    strategy: str
    variant: str | None
    definition: Mapping[str, Scalar]
    hard: Mapping[str, str | int]
    limits: Mapping[int, Limits]
    entries: Mapping[int, BaselineEntry]
    """The replica counts that have runs."""

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.workload, self.strategy, self.variant) if part)


def migrate(
    document: Document,
    migrations: Mapping[int, Callable[[Data], Data]] = MIGRATIONS,
    current: int = SCHEMA_VERSION,
) -> Document:
    """Bring a document up to the current version; raises FileProblem where that is not possible."""
    data = document.data
    version = data.get("schema_version")
    line = document.lines.get(("schema_version",))
    if version is None:
        raise FileProblem("there is no key schema_version, so it is not a baseline of pytest-tfperf, or was cut short")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileProblem(f"schema_version is {version!r}, not a version number such as {current}", line)
    if version > current:
        raise FileProblem(
            f"schema_version is {version}, and this pytest-tfperf only knows versions up to {current}",
            line,
            "Update pytest-tfperf.",
        )
    while version < current:
        if version not in migrations:
            raise FileProblem(f"schema_version {version} is too old to be read", line)
        data = migrations[version](data)
        version += 1
        data["schema_version"] = version
    return Document(data, document.lines, document.spelling, document.comments)


def validate(document: Document) -> BaselineFile:
    """Check a document of the current version; raises FileProblem naming the key and its line."""
    return _Check(document).file()


class _Check:
    def __init__(self, document: Document) -> None:
        self._data = document.data
        self._lines = document.lines

    def fail(self, path: Path, problem: str) -> NoReturn:
        line = None
        for end in range(len(path), 0, -1):
            line = self._lines.get(path[:end])
            if line is not None:
                break
        raise FileProblem(f"{'.'.join(str(part) for part in path) or 'the file'} {problem}", line)

    def file(self) -> BaselineFile:
        top = self._data
        self.keys((), top, TOP_KEYS)
        workload, strategy = (self.text((key,), top[key]) for key in ("workload", "strategy"))
        variant = None if top["variant"] is None else self.text(("variant",), top["variant"])
        definition: dict[str, Scalar] = {}
        for key, fact in self.mapping(("definition",), top["definition"]).items():
            if not isinstance(key, str) or isinstance(fact, (dict, list)):
                self.fail(("definition", key), "must be a name with a single value")
            definition[key] = fact
        hard: dict[str, str | int] = {}
        for key, fact in self.mapping(("environment",), top["environment"]).items():
            if not isinstance(key, str) or isinstance(fact, bool) or not isinstance(fact, (str, int)):
                self.fail(("environment", key), "must be a name with a text or a whole number")
            hard[key] = fact
        units = self.mapping(("units",), top["units"])
        if units != UNITS:
            self.fail(("units",), f"are {_brief(units)}, not {_brief(UNITS)}")
        limits: dict[int, Limits] = {}
        entries: dict[int, BaselineEntry] = {}
        for replicas, stored in self.mapping(("replicas",), top["replicas"]).items():
            path: Path = ("replicas", replicas)
            if not isinstance(replicas, int) or not 1 <= replicas <= 1_000_000:
                self.fail(path, "is not a replica count")
            entry = self.mapping(path, stored)
            measured = any(key in entry for key in ENTRY_KEYS[2:])
            self.keys(path, entry, ENTRY_KEYS if measured else ENTRY_KEYS[:2])
            limits[replicas] = Limits(
                self.fraction((*path, "efficiency_floor"), entry["efficiency_floor"], 2.0),
                self.fraction((*path, "tolerance"), entry["tolerance"], 1.0),
            )
            if not measured and limits[replicas] == Limits():
                self.fail(path, "has neither runs nor limits; it may have been cut short, or can be removed")
            if measured:
                series = self.runs((*path, "runs"), entry["runs"])
                entries[replicas] = BaselineEntry(
                    workload=workload,
                    strategy=strategy,
                    variant=variant,
                    replicas=replicas,
                    definition=definition,
                    environment=Environment(hard, self.soft((*path, "soft"), entry["soft"])),
                    reference_throughput=series["reference_throughput"],
                    reference_step_time=series["reference_step_time"],
                    throughput=series["throughput"],
                    step_time=series["step_time"],
                    provenance=self.provenance((*path, "saved"), entry["saved"]),
                    floor=limits[replicas].floor,
                    tolerance=limits[replicas].tolerance,
                )
        return BaselineFile(workload, strategy, variant, definition, hard, limits, entries)

    def keys(self, path: Path, data: Data, wanted: tuple[str, ...]) -> None:
        for key in data:
            if key not in wanted:
                self.fail((*path, key), f"is not a key that belongs there; these do: {', '.join(wanted)}")
        for key in wanted:
            if key not in data:
                self.fail(path, f"has no key {key}; it may have been cut short")

    def mapping(self, path: Path, value: Value) -> Data:
        if not isinstance(value, dict):
            self.fail(path, f"is {_brief(value)}, not a mapping of keys to values")
        return value

    def text(self, path: Path, value: Value, may_be_empty: bool = False) -> str:
        if not isinstance(value, str) or not (value or may_be_empty):
            self.fail(path, f"is {_brief(value)}, not a text; put it in quotes if it is meant as one")
        return value

    def number(self, path: Path, value: Value) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(path, f"is {_brief(value)}, not a number")
        if not math.isfinite(value):
            self.fail(path, f"is {value}, not a finite number")
        return float(value)

    def fraction(self, path: Path, value: Value, limit: float) -> float | None:
        if value is None:
            return None
        number = self.number(path, value)
        if not 0 < number <= limit:
            self.fail(path, f"is {value}; write a fraction above 0 and up to {limit:g}, such as 0.03 for 3 %, or null")
        return number

    def runs(self, path: Path, value: Value) -> dict[str, tuple[float, ...]]:
        data = self.mapping(path, value)
        self.keys(path, data, SERIES)
        series: dict[str, tuple[float, ...]] = {}
        for key in SERIES:
            values = data[key]
            if not isinstance(values, list) or not values:
                self.fail((*path, key), f"is {_brief(values)}, not a list of one number per round")
            for position, item in enumerate(values):
                here = (*path, key, position)
                if not SMALLEST <= self.number(here, item) <= LARGEST:
                    self.fail(here, f"is {item}; only values from {SMALLEST:g} to {LARGEST:g} can have been measured")
            series[key] = tuple(self.number((*path, key), item) for item in values)
        if len({len(values) for values in series.values()}) > 1:
            counts = ", ".join(f"{key} {len(values)}" for key, values in series.items())
            self.fail(path, f"do not have one value per round in every list: {counts}")
        return series

    def soft(self, path: Path, value: Value) -> dict[str, str]:
        facts: dict[str, str] = {}
        for key, fact in self.mapping(path, value).items():
            facts[self.text((*path, key), key)] = self.text((*path, key), fact, may_be_empty=True)
        return facts

    def provenance(self, path: Path, value: Value) -> Provenance:
        data = self.mapping(path, value)
        self.keys(path, data, ("date", "commit", "dirty", "test"))
        dirty = data["dirty"]
        if not isinstance(dirty, bool):
            self.fail((*path, "dirty"), f"is {_brief(dirty)}, not true or false")
        texts = {key: self.text((*path, key), data[key], may_be_empty=True) for key in ("date", "commit", "test")}
        return Provenance(texts["date"], texts["commit"], dirty, texts["test"])


def _brief(value: Value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {item}" for key, item in list(value.items())[:5]) + "}"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
