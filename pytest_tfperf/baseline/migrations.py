"""How a file of an older version becomes one of this version, with its comments and the lines of its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pytest_tfperf.baseline.codec import Comment, Data, Document, FileProblem, Path, Value
from pytest_tfperf.baseline.schema import SCHEMA_VERSION, SESSION_KEYS


@dataclass(frozen=True)
class Migrated:
    """A document's data in the next version, and where each of its keys went."""

    data: Data
    moved: Callable[[Path], Path]
    """The new place of what was at a path; the same path where it stayed."""


Migration: TypeAlias = Callable[[Document], Migrated]


def _sessions(document: Document) -> Migrated:
    """Version 1 had one measurement per replica count; it becomes that count's first session.

    What is not as version 1 had it stays where it is, for the check that follows to name; only the date, which becomes
    a key, is needed here.
    """
    data = dict(document.data)
    dates: dict[Path, str] = {}
    replicas = data.get("replicas")
    if isinstance(replicas, dict):
        data["replicas"] = {
            count: _one_session(entry, ("replicas", count), document, dates) for count, entry in replicas.items()
        }

    def moved(path: Path) -> Path:
        entry, rest = path[:2], path[2:]
        date = dates.get(entry)
        if date is None or not rest or rest[0] not in SESSION_KEYS:
            return path
        session = (*entry, "sessions", date)
        return session if rest == ("saved", "date") else (*session, *rest)

    return Migrated(data, moved)


def _one_session(entry: Value, path: Path, document: Document, dates: dict[Path, str]) -> Value:
    if not isinstance(entry, dict) or not isinstance(entry.get("saved"), dict):
        return entry
    saved = entry["saved"]
    assert isinstance(saved, dict)
    date = saved.get("date")
    if not isinstance(date, str):
        here = (*path, "saved", "date")
        line = document.lines.get(here, document.lines.get(here[:-1]))
        raise FileProblem(f"{'.'.join(map(str, here))} is {date!r}, not a date such as 2026-11-27T22:36:48Z", line)
    dates[path] = date
    session: Data = {key: entry[key] for key in SESSION_KEYS if key in entry}
    session["saved"] = {key: value for key, value in saved.items() if key != "date"}
    new: Data = {}
    for key, value in entry.items():
        if key not in SESSION_KEYS:
            new[key] = value
        elif "sessions" not in new:
            new["sessions"] = {date: session}
    return new


def _as_it_is(document: Document) -> Migrated:
    """Versions 3 to 6 only add a key each, which need not be there."""
    return Migrated(document.data, lambda path: path)


MIGRATIONS: Mapping[int, Migration] = {1: _sessions, 2: _as_it_is, 3: _as_it_is, 4: _as_it_is, 5: _as_it_is}
"""Version to what makes a document of the next version from it; applied in memory by every read."""


def migrate(
    document: Document, migrations: Mapping[int, Migration] = MIGRATIONS, current: int = SCHEMA_VERSION
) -> Document:
    """Bring a document up to the current version; raises FileProblem where that is not possible."""
    version = document.data.get("schema_version")
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
        migrated = migrations[version](document)
        version += 1
        document = _moved(document, {**migrated.data, "schema_version": version}, migrated.moved)
    return document


def _moved(document: Document, data: Data, moved: Callable[[Path], Path]) -> Document:
    return Document(
        data,
        {moved(path): line for path, line in document.lines.items()},
        {moved(path): spelling for path, spelling in document.spelling.items()},
        tuple(_moved_comment(comment, moved(comment.path)) for comment in document.comments),
    )


def _moved_comment(comment: Comment, path: Path) -> Comment:
    """With the indent of its new place, or the next read would take it for another key's."""
    deeper = "  " * (len(path) - len(comment.path)) if comment.place != "beside" and comment.text.strip() else ""
    return replace(comment, path=path, text=deeper + comment.text)
