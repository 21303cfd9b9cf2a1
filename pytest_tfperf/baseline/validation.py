"""Checks a baseline file's document, key by key."""

from __future__ import annotations

import math
from typing import NoReturn

from pytest_tfperf.baseline.codec import Data, Document, FileProblem, Path, Value
from pytest_tfperf.baseline.schema import (
    ENTRY_KEYS,
    FIRST_RUN_SECONDS,
    FORCED,
    LARGEST,
    OPTIONAL_KEYS,
    RUN_SECONDS,
    SAVED_KEYS,
    SERIES,
    SESSION_KEYS,
    SMALLEST,
    TOP_KEYS,
    UNITS,
    WINDOW_SECONDS,
    BaselineFile,
    Limits,
    session_order,
)
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance


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
                entries[replicas] = BaselineEntry(
                    workload=workload,
                    strategy=strategy,
                    variant=variant,
                    replicas=replicas,
                    definition=definition,
                    hard=hard,
                    sessions=self.sessions((*path, "sessions"), entry["sessions"]),
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
        if value == "" and not may_be_empty:
            self.fail(path, "is empty")
        if not isinstance(value, str):
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

    def sessions(self, path: Path, value: Value) -> tuple[BaselineSession, ...]:
        data = self.mapping(path, value)
        if not data:
            self.fail(path, "has no session; it may have been cut short")
        found: list[tuple[tuple[str, int], BaselineSession]] = []
        for key, stored in data.items():
            here = (*path, key)
            try:
                order = session_order(key)
            except ValueError:
                self.fail(here, "is not a date such as 2026-11-27T22:36:48Z")
            session = self.mapping(here, stored)
            self.keys(here, session, (*SESSION_KEYS, *(key for key in OPTIONAL_KEYS if key in session)))
            found.append(
                (
                    order,
                    BaselineSession(
                        provenance=self.provenance((*here, "saved"), order[0], session["saved"]),
                        soft=self.soft((*here, "soft"), session["soft"]),
                        **self.runs((*here, "runs"), session["runs"]),
                        run_seconds=self.seconds(here, RUN_SECONDS, session),
                        window_seconds=self.window(here, session),
                        first_run_seconds=self.seconds(here, FIRST_RUN_SECONDS, session),
                    ),
                )
            )
        return tuple(session for _, session in sorted(found, key=lambda each: each[0]))

    def runs(self, path: Path, value: Value) -> dict[str, tuple[float, ...]]:
        data = self.mapping(path, value)
        self.keys(path, data, SERIES)
        series: dict[str, tuple[float, ...]] = {}
        for key in SERIES:
            values = data[key]
            if not isinstance(values, list) or not values:
                self.fail((*path, key), f"is {_brief(values)}, not a list of one number per round")
            # Nearly all are fine: one look at each, before anything is made to name it with.
            numbers = tuple(float(item) for item in values if type(item) is float or type(item) is int)
            if len(numbers) == len(values) and all(SMALLEST <= number <= LARGEST for number in numbers):
                series[key] = numbers
                continue
            for position, item in enumerate(values):
                here = (*path, key, position)
                if not SMALLEST <= self.number(here, item) <= LARGEST:
                    self.fail(here, f"is {item}; only values from {SMALLEST:g} to {LARGEST:g} can have been measured")
            series[key] = tuple(self.number((*path, key), item) for item in values)
        if len({len(values) for values in series.values()}) > 1:
            counts = ", ".join(f"{key} {len(values)}" for key, values in series.items())
            self.fail(path, f"do not have one value per round in every list: {counts}")
        return series

    def seconds(self, session: Path, key: str, data: Data) -> tuple[float, float] | None:
        if key not in data:
            return None
        path, value = (*session, key), data[key]
        if not isinstance(value, list) or len(value) != 2:
            self.fail(path, f"is {_brief(value)}, not two numbers: seconds of a run of the reference, and of the arm")
        reference, own = (self.number((*path, position), item) for position, item in enumerate(value))
        for position, item in enumerate((reference, own)):
            if not SMALLEST <= item <= LARGEST:
                self.fail((*path, position), f"is {item}; no run can have taken that")
        return reference, own

    def window(self, session: Path, data: Data) -> float | None:
        if WINDOW_SECONDS not in data:
            return None
        path = (*session, WINDOW_SECONDS)
        number = self.number(path, data[WINDOW_SECONDS])
        if not SMALLEST <= number <= LARGEST:
            self.fail(path, f"is {number}; no timed window can have that length in seconds")
        return number

    def soft(self, path: Path, value: Value) -> dict[str, str]:
        facts: dict[str, str] = {}
        for key, fact in self.mapping(path, value).items():
            facts[self.text((*path, key), key)] = self.text((*path, key), fact, may_be_empty=True)
        return facts

    def provenance(self, path: Path, date: str, value: Value) -> Provenance:
        data = self.mapping(path, value)
        self.keys(path, data, (*SAVED_KEYS, FORCED) if FORCED in data else SAVED_KEYS)
        dirty = data["dirty"]
        if not isinstance(dirty, bool):
            self.fail((*path, "dirty"), f"is {_brief(dirty)}, not true or false")
        commit, test = (self.text((*path, key), data[key], may_be_empty=True) for key in ("commit", "test"))
        forced = self.text((*path, FORCED), data[FORCED]) if FORCED in data else ""
        if FORCED in data and not forced.strip():
            self.fail((*path, FORCED), "is empty")
        return Provenance(date, commit, dirty, test, forced)


def _brief(value: Value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {item}" for key, item in list(value.items())[:5]) + "}"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
