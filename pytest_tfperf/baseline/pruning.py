"""Takes what is no longer wanted out of baseline files. What a person wrote there stays: limits and comments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pytest_tfperf.baseline.codec import Data, FileProblem, Value
from pytest_tfperf.baseline.derived import derived
from pytest_tfperf.baseline.reading import Content, Reader, problem_error
from pytest_tfperf.baseline.schema import ENTRY_KEYS, BaselineFile, Limits, session_order
from pytest_tfperf.baseline.store import BaselineStore, checked_text
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.files import locked_folder, replace_content
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession

Removed = Literal["removed", "limits stay", "nothing to remove"]
Change: TypeAlias = Callable[[Content], "Data | None"]
"""What a file's data becomes; None: the file goes."""


@dataclass(frozen=True)
class SessionRule:
    """Which sessions of a replica count go; the newest never does."""

    keep: int | None = None
    """The newest that stay; None: any number."""
    before: str = ""
    """UTC, as in a session's key: what was saved before then goes. Empty: any age stays."""

    def stale(self, entry: BaselineEntry) -> tuple[BaselineSession, ...]:
        """The sessions that go, oldest first."""
        *older, _ = entry.sessions
        beyond = 0 if self.keep is None else max(0, len(entry.sessions) - max(1, self.keep))
        return tuple(
            session
            for position, session in enumerate(older)
            if position < beyond or session.provenance.date < self.before
        )


def drop_sessions(root: Path, path: Path, rule: SessionRule) -> Mapping[int, int]:
    """Write the file without what the rule says; how many sessions went, by replica count.

    The file is read again while its folder is locked, so what another process saves meanwhile is neither lost nor
    judged by what was seen before. Raises BaselineError; the file is then as it was.
    """
    dropped: dict[int, int] = {}

    def without(content: Content) -> Data:
        replicas = dict(_mapping(content.document.data["replicas"]))
        for count, entry in content.file.entries.items():
            stale = rule.stale(entry)
            if not stale:
                continue
            stored = _mapping(replicas[count])
            sessions = _mapping(stored["sessions"])
            by_age = zip(sorted(sessions, key=session_order), entry.sessions, strict=True)
            gone = {key for key, session in by_age if session in stale}
            left = [session for session in entry.sessions if session not in stale]
            replicas[count] = {
                **stored,
                "sessions": {key: value for key, value in sessions.items() if key not in gone},
                "derived": derived(left, count),
            }
            dropped[count] = len(gone)
        return {**content.document.data, "replicas": replicas} if dropped else content.document.data

    _rewrite(root, path, without)
    return dropped


def has_limits(file: BaselineFile) -> bool:
    """Whether a person has set a floor or a tolerance in it."""
    return any(limits != Limits() for limits in file.limits.values())


def drop_runs(root: Path, path: Path) -> Removed:
    """Remove the file; where a person has set limits in it, its measurements alone.

    An environment's folder that is empty then goes too. Raises BaselineError; the file is then as it was.
    """

    def limits_alone(content: Content) -> Data | None:
        file = content.file
        if not has_limits(file):
            return None
        stored = _mapping(content.document.data["replicas"])
        kept: Data = {
            count: {key: _mapping(stored[count])[key] for key in ENTRY_KEYS[:2]}
            for count, limits in file.limits.items()
            if limits != Limits()
        }
        return {**content.document.data, "replicas": kept}

    return _rewrite(root, path, limits_alone)


def _rewrite(root: Path, path: Path, change: Change) -> Removed:
    target = BaselineStore(root).inside(path)
    try:
        with locked_folder(target.parent) as alone:
            content = Reader().content(target)
            if content is None:
                return "nothing to remove"
            data = change(content)
            if data is None:
                target.unlink()
                if path != target:
                    path.unlink(missing_ok=True)
                if target.parent != root.resolve():
                    with suppress(OSError):  # not empty
                        target.parent.rmdir()
            elif data == content.document.data:
                return "nothing to remove"
            else:
                replace_content(target, checked_text(data, content, "").encode(), alone)
    except FileProblem as problem:
        raise problem_error(path, problem) from problem
    except OSError as error:
        raise BaselineError(f"{path}: cannot be changed: {error.strerror or error}. The file is as it was.") from error
    return "limits stay" if data is not None else "removed"


def _mapping(value: Value) -> Data:
    assert isinstance(value, dict)  # checked when the file was read
    return value
