"""New sessions into a file's data: what they join or replace, what stays, what has to go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_tfperf.baseline.codec import Data, FileProblem, Key, Value
from pytest_tfperf.baseline.derived import derived, rounded
from pytest_tfperf.baseline.schema import (
    ENTRY_KEYS,
    FIRST_RUN_SECONDS,
    FORCED,
    RUN_SECONDS,
    SCHEMA_VERSION,
    SERIES,
    TOP_KEYS,
    UNITS,
    WINDOW_SECONDS,
    BaselineFile,
    session_key,
    session_order,
)
from pytest_tfperf.records.arm import definition_changes
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.units import plural


@dataclass(frozen=True)
class Outdated:
    """Stored sessions at another speed than the new one, which therefore takes their place."""

    sessions: tuple[BaselineSession, ...]
    """As they were read. One that another process has stored since then was not looked at, and stays."""
    reason: str
    """How the new session differs, for the reader: ``T(4) improved by 12.0 %``."""


def merged(
    data: Data | None,
    stored: BaselineFile | None,
    entries: Sequence[BaselineEntry],
    keep: int,
    outdated: Outdated | None = None,
) -> tuple[Data, str]:
    """Data of the file with the entries' sessions in it, and a note that says what became of the earlier ones.

    Of each replica count the newest `keep` sessions stay, at least 1. The other replica counts stay as they are, and
    hand-set limits always do. Where the definition changed, all earlier sessions measured something else: they go, with
    a note, and of the other replica counts only the hand-set limits stay. Raises FileProblem where the entries do not
    belong into one file, or not into this one.
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
    earlier: dict[int, tuple[BaselineSession, ...]] = {}
    change = ""
    if data is not None and stored is not None:
        check_same_place(stored, (first.workload, first.strategy, first.variant), first.environment)
        replicas.update(_mapping(data["replicas"]))
        earlier = {count: entry.sessions for count, entry in stored.entries.items()}
        if dict(stored.definition) != dict(first.definition):
            change = _drop_stale(replicas, stored, first, counts)
    notes: list[str] = []
    for entry in entries:
        before = replicas.get(entry.replicas)
        old = earlier.get(entry.replicas, ())
        if change:
            outdated = Outdated(old, "")
        replicas[entry.replicas], note = _entry(entry, before if isinstance(before, dict) else {}, old, keep, outdated)
        notes.append(note if len(entries) == 1 else f"{plural(entry.replicas, 'replica')}: {note}")
    for count, sessions in earlier.items():
        kept = _mapping(replicas[count]) if count in replicas and count not in counts else {}
        if "sessions" in kept:  # the same again, unless an older version or a person wrote it
            replicas[count] = {**kept, "derived": derived(sessions, count)}
    fresh: Data = {
        "schema_version": SCHEMA_VERSION,
        "workload": first.workload,
        "strategy": first.strategy,
        "variant": first.variant,
        "definition": {key: first.definition[key] for key in sorted(first.definition)},
        "environment": {key: first.hard[key] for key in sorted(first.hard)},
        "units": dict(UNITS),
        "replicas": {count: replicas[count] for count in sorted(replicas, key=int)},
    }
    return {key: fresh[key] for key in TOP_KEYS}, "; ".join(filter(None, [*notes, change]))


def _identity(one: BaselineEntry, other: BaselineEntry) -> Iterable[tuple[str, object, object]]:
    yield "names", (one.workload, one.strategy, one.variant), (other.workload, other.strategy, other.variant)
    yield "hard environment", dict(one.hard), dict(other.hard)
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
    changes = definition_changes(stored.definition, entry.definition, entry.strategy)
    facts = ", ".join(f"{key} {old} -> {new}" for key, old, new in changes)
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
        f"{', '.join(dropped)}; save those too"
    )


def _entry(
    entry: BaselineEntry, stored: Data, earlier: Sequence[BaselineSession], keep: int, outdated: Outdated | None
) -> tuple[Data, str]:
    """What is to be stored of one replica count, and in words what became of its earlier sessions."""
    # What a person wrote wins, null included: someone may have taken a floor away on purpose.
    limits: Data = (
        {key: stored[key] for key in ENTRY_KEYS[:2]}
        if stored
        else {"efficiency_floor": entry.floor, "tolerance": entry.tolerance}
    )
    written = dict(_mapping(stored["sessions"])) if "sessions" in stored else {}
    known = dict(zip(sorted(written, key=session_order), earlier, strict=True))
    others = [key for key in known if outdated is None or known[key] not in outdated.sessions]
    replaced = len(known) - len(others)
    added: list[Key] = []
    again = 0
    for session in map(_rounded, entry.sessions):
        key = next((key for key in others if _is_same(known[key], session)), None)
        if key is None:
            # The key of a session that is about to go is taken too, or its comments would speak of the new one.
            key = _new_key(session, [*written])
            known[key], written[key] = session, _session(session)
        else:
            others.remove(key)
            again += 1
            if known[key] != session:  # saved by force, and then as what passed, or the other way round
                known[key], written[key] = session, {**_mapping(written[key]), "saved": _saved(session.provenance)}
        added.append(key)
    # The new ones never go first, not even where this machine's clock is behind.
    kept = sorted([*others, *added][-keep:], key=session_order)
    content: Data = {
        **limits,
        "sessions": {key: written[key] for key in kept},
        "derived": derived([known[key] for key in kept], entry.replicas),
    }
    dropped = len(set(others) - set(kept))
    parts = [
        "stored already" if again else "",
        f"replaced {plural(replaced, 'earlier session')}" if replaced else "",
        f"joined {plural(len(others) - dropped, 'earlier session')}" if len(others) > dropped else "",
        f"{plural(dropped, 'older session')} removed" if dropped else "",
    ]
    if replaced and outdated and outdated.reason:
        parts[1] += f": {outdated.reason}"
    return content, ", ".join(filter(None, parts)) or "first session"


def _new_key(session: BaselineSession, taken: Sequence[Key]) -> str:
    date = session.provenance.date
    try:
        return session_key(date, taken)
    except ValueError:
        problem = f"the new session's date is {date!r}, not such as 2026-11-27T22:36:48Z"
        raise FileProblem(problem, remedy="Nothing was written.") from None


def _rounded(session: BaselineSession) -> BaselineSession:
    """As it will be read again."""

    def series(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(float(rounded(value)) for value in values)

    return replace(
        session,
        reference_throughput=series(session.reference_throughput),
        reference_step_time=series(session.reference_step_time),
        throughput=series(session.throughput),
        step_time=series(session.step_time),
        run_seconds=_rounded_seconds(session.run_seconds),
        window_seconds=None if session.window_seconds is None else float(rounded(session.window_seconds, 3)),
        first_run_seconds=_rounded_seconds(session.first_run_seconds),
    )


def _rounded_seconds(of_runs: tuple[float, float] | None) -> tuple[float, float] | None:
    if of_runs is None:
        return None
    reference, own = (float(rounded(seconds, 3)) for seconds in of_runs)
    return reference, own


def _is_same(one: BaselineSession, other: BaselineSession) -> bool:
    """Whether both are one measurement, whatever is thought of it."""
    return one == replace(other, provenance=replace(other.provenance, forced=one.provenance.forced))


def _saved(saved: Provenance) -> Data:
    forced: Data = {FORCED: saved.forced} if saved.forced else {}
    return {"commit": saved.commit, "dirty": saved.dirty, "test": saved.test, **forced}


def _session(session: BaselineSession) -> Data:
    soft = session.soft
    runs: Data = {name: [rounded(value) for value in getattr(session, name)] for name in SERIES}
    of_runs = {FIRST_RUN_SECONDS: session.first_run_seconds, RUN_SECONDS: session.run_seconds}
    seconds: Data = {key: [rounded(each, 3) for each in pair] for key, pair in of_runs.items() if pair is not None}
    if session.window_seconds is not None:
        seconds[WINDOW_SECONDS] = rounded(session.window_seconds, 3)
    return {
        "saved": _saved(session.provenance),
        "soft": {key: soft[key] for key in sorted(soft)},
        "runs": runs,
        **seconds,
    }


def _mapping(value: Value) -> Data:
    assert isinstance(value, dict)  # checked when the file was read
    return value
