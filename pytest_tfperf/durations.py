"""What runs took before: in earlier sessions here, and when baselines were saved, here or elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from math import log
from statistics import median
from typing import Any

from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.pacing import planned_rounds
from pytest_tfperf.records.arm import Scalar, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.sweep import CORES_PER_RANK, SweepResult

History = Mapping[str, Any]
"""What earlier sessions took on this machine, as JSON has it. By test: ``of``, what tells its settings from others;
``runs``, by the arm's label the seconds of the first run and of a later one, and the windows' length; and ``rounds``,
by what `kind_of` says, how many runs each arm had. Under ``""``: what a session takes besides its runs.
"""


def sound(found: object) -> dict[str, Any]:
    """What of a history has the shape that `updated` gives it; anything may stand in pytest's cache."""
    history: dict[str, Any] = {}
    for test, known in _items(found):
        if test == "":
            history[test] = {kind: seconds for kind, seconds in _items(known) if _is_number(seconds, 0.0)}
            continue
        parts = dict(_items(known))
        runs = {
            label: seconds
            for label, seconds in _items(parts.get("runs"))
            if isinstance(seconds, list) and len(seconds) == 3 and all(_is_number(each, 0.0) for each in seconds)
        }
        rounds = {
            kind: {label: count for label, count in _items(counts) if isinstance(count, int) and _is_number(count, 1.0)}
            for kind, counts in _items(parts.get("rounds"))
        }
        history[test] = {"of": of if isinstance(of := parts.get("of"), str) else "", "runs": runs, "rounds": rounds}
    return history


def _items(found: object) -> Iterable[tuple[str, Any]]:
    return found.items() if isinstance(found, dict) else ()


def _is_number(value: object, least: float) -> bool:
    """Whether it is a count or some seconds; a run of more than a week is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= 604_800


@dataclass(frozen=True)
class Stored:
    """What the baseline files know of one replica count; all of it may be missing."""

    entry: BaselineEntry | None
    """None where there is none that the count can be held against."""
    tolerance: float
    alike: tuple[BaselineEntry, ...] = ()
    """Where there is none: the same measured in other environments, or with another number of replicas."""
    kin: tuple[tuple[BaselineEntry, ...], ...] = ()
    """Where these do not say what a run took: the workload under other strategies or options, the nearest first, those
    that are as near together."""


def stored_of(
    store: BaselineStore,
    environment: Environment,
    name: str,
    replicas: int,
    definition: Mapping[str, Scalar],
    tolerance: float,
) -> Stored:
    """What a store knows of a count that is measured as `definition` says.

    What is alike may differ in the cores of a rank, as machines do, and in the number of replicas, the nearest of which
    is taken, by its ratio to this one.
    """
    entry = store.find(environment, name, replicas)
    if entry is not None and _definition(entry) == definition:
        return Stored(entry, tolerance)
    ours = {**definition, CORES_PER_RANK: None}
    alike = [each for each in store.every(name) if {**_definition(each), CORES_PER_RANK: None} == ours]

    def distance(entry: BaselineEntry) -> float:
        return abs(log(entry.replicas / replicas))

    nearest = min(map(distance, alike), default=0.0)
    chosen = tuple(each for each in alike if distance(each) == nearest)
    if any(each.latest.run_seconds is not None for each in chosen):
        return Stored(None, tolerance, chosen)
    return Stored(None, tolerance, chosen, _kin(store, environment, replicas, definition))


def _kin(
    store: BaselineStore, environment: Environment, replicas: int, definition: Mapping[str, Scalar]
) -> tuple[tuple[BaselineEntry, ...], ...]:
    """Entries of the workload on that kind of device with one parameter of its own different at most: those of this
    environment first, then those with the fewest differences, then with the nearest number of replicas.
    """
    ours = {name: value for name, value in definition.items() if name.startswith("workload.")}
    device, here = definition.get("device"), environment.name

    def nearness(entry: BaselineEntry) -> tuple[bool, int, float]:
        theirs = {name: value for name, value in entry.definition.items() if name.startswith("workload.")}
        different = sum(theirs.get(name) != value for name, value in ours.items()) + len(theirs.keys() - ours.keys())
        return entry.environment.name != here, different, abs(log(entry.replicas / replicas))

    entries = store.of_workload(str(definition["workload"]))
    found = [(nearness(entry), entry) for entry in entries if entry.definition.get("device") == device]
    near = sorted((each for each in found if each[0][1] <= 1), key=lambda each: each[0])
    return tuple(tuple(entry for _, entry in group) for _, group in groupby(near, key=lambda each: each[0]))


def _definition(entry: BaselineEntry) -> dict[str, Scalar]:
    return {"workload": entry.workload, "strategy": entry.strategy, **entry.definition}


def updated(history: History, results: Mapping[str, SweepResult], config: PerfConfig, took: float) -> dict[str, Any]:
    """The history with a session's results; `took` is what the whole session took, in seconds."""
    found, in_runs = dict(history), 0.0
    for test, result in results.items():
        before = known_of(found, result.sweep.spec)
        runs, counts = dict(before.get("runs", {})), {}
        for arm, measured in result.results.items():
            seconds = [run.seconds for run in measured.runs]
            there = len(result.against[arm].runs) if arm in result.against else 0
            if seconds and measured.error is None:
                in_runs += sum(seconds) * (1 + there / len(seconds))
                runs[arm.label] = [round(seconds[0], 2), round(median(seconds[1:] or seconds), 2), window_of(config)]
                counts[arm.label] = len(seconds)
        kind = kind_of(config, planned_rounds(config, result.sweep.spec))
        of, rounds = settings_of(result.sweep.spec), {**before.get("rounds", {}), kind: counts}
        found[test] = {"of": of, "runs": runs, "rounds": rounds}
    found[""] = {**found.get("", {}), kind_of(config, 0): round(max(0.0, took - in_runs), 2)}
    return found


def settings_of(spec: SweepSpec) -> str:
    """What a test measures, shortened to what tells it from what it measured before its settings were changed."""
    versus = [spec.versus.strategy, sorted(spec.versus.definition.items())] if spec.versus else []
    settings = [spec.workload, spec.strategy, sorted(spec.definition.items()), versus]
    return sha256(repr(settings).encode()).hexdigest()[:16]


def known_of(history: History, spec: SweepSpec) -> Mapping[str, Any]:
    """What a history has of a test as it is now; empty where it has nothing, or measured something else."""
    known: Mapping[str, Any] = history.get(spec.test, {})
    return known if known.get("of") == settings_of(spec) else {}


def kind_of(config: PerfConfig, planned: int) -> str:
    """What sessions must have in common to need as many rounds."""
    kind = "smoke" if config.smoke else "save" if config.save else "against" if config.against else "gate"
    return f"{kind} {planned}" if planned else kind


def window_of(config: PerfConfig) -> float:
    return config.measurement.window_seconds
