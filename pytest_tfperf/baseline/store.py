"""Where baselines live: ``<root>/<environment>/<workload>-<strategy>[-<variant>].yaml``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from pytest_tfperf.baseline.codec import MAX_CHARACTERS, Data, Document, FileProblem, check_effort, parse
from pytest_tfperf.baseline.merge import Outdated, check_same_place, merged
from pytest_tfperf.baseline.plain import read_plain
from pytest_tfperf.baseline.reading import HEADER, Content, Reader, problem_error
from pytest_tfperf.baseline.schema import BaselineFile, Limits
from pytest_tfperf.baseline.validation import validate
from pytest_tfperf.baseline.writer import render
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.files import locked_folder, replace_content
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.environment import Environment

# One path component: no separator, no control character, no leading dot, and room for the temporary file's suffix.
_COMPONENT = re.compile(r"[\w+=,@ ()\[\]~-][\w.+=,@ ()\[\]~-]{0,149}")
_LOOKED_AT = 50
"""Baselines of one workload; more would take longer to go through, for each arm, than what they tell is worth."""


@dataclass(frozen=True)
class SavedFile:
    """One file that `BaselineStore.save` brought up to date."""

    path: Path
    note: str = ""
    """What became of earlier sessions, and what else a person should know, such as that it had another definition."""

    def __str__(self) -> str:
        return f"{self.path} ({self.note})" if self.note else str(self.path)


class BaselineStore:
    """Baseline files under one root folder. Every method raises BaselineError, and nothing else, for a bad file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._reader = Reader()
        self._paths: dict[tuple[str, str], Path] = {}
        """Where files were found to be that were read, by folder and name; what is written is followed anew."""
        self._of_workload: dict[str, list[BaselineEntry]] = {}

    def find(self, environment: Environment, name: str, replicas: int) -> BaselineEntry | None:
        """Look up the sessions of one arm; None where there is none. Never writes.

        The entry carries the definition *of the file*, which the caller must compare with its own. A file whose hard
        environment differs, though its folder has the same name, is a BaselineError.
        """
        file = self._file(environment, name)
        return file.entries.get(replicas) if file else None

    def entries(self, environment: Environment, name: str) -> list[BaselineEntry]:
        """All replica counts of a baseline's file; raises BaselineError where it cannot be read."""
        file = self._file(environment, name)
        return list(file.entries.values()) if file else []

    def limits(self, environment: Environment, name: str, replicas: int) -> Limits:
        """Give the hand-set floor and tolerance, also of a replica count that has no measurement (any more)."""
        file = self._file(environment, name)
        return file.limits.get(replicas, Limits()) if file else Limits()

    def environments(self, name: str) -> list[str]:
        """Names of the environment folders that have a file for this baseline, sorted."""
        _check_component(name, "baseline name")
        try:
            if not self.root.exists():
                return []
            folders = sorted(folder.name for folder in self.root.iterdir() if not folder.name.startswith("."))
            return [folder for folder in folders if self.inside(self.root / folder / f"{name}.yaml").is_file()]
        except OSError as error:
            raise BaselineError(f"{self.root}: the baselines cannot be listed: {error.strerror or error}.") from error

    def every(self, name: str) -> list[BaselineEntry]:
        """The sessions of every count in every environment, as far as they can be read.

        A file that cannot be is passed over: it is an error for who is judged by it, not for who looks around.
        """
        found: list[BaselineEntry] = []
        for folder in self.environments(name):
            with suppress(BaselineError):
                file = self._reader.file(self.inside(self.root / folder / f"{name}.yaml"))
                found += file.entries.values() if file else ()
        return found

    def of_workload(self, workload: str) -> list[BaselineEntry]:
        """The same of a workload's baselines, whatever their strategy, of `_LOOKED_AT` names at most.

        Read once, for who looks around again.
        """
        if workload not in self._of_workload:
            names: set[str] = set()
            with suppress(OSError):
                names = {path.stem for path in self.root.glob(f"*/{escape(workload)}-*.yaml")}
            found: list[list[BaselineEntry]] = []
            for name in sorted(names):
                with suppress(BaselineError):
                    # Of a workload `mlp-wide` the names begin like those of `mlp`.
                    if entries := [entry for entry in self.every(name) if entry.workload == workload]:
                        found.append(entries)
                if len(found) == _LOOKED_AT:
                    break
            self._of_workload[workload] = [entry for entries in found for entry in entries]
        return self._of_workload[workload]

    def save(
        self,
        entries: Sequence[BaselineEntry],
        *,
        keep: int = PerfConfig.keep_sessions,
        outdated: Outdated | None = None,
    ) -> list[SavedFile]:
        """Add the entries' sessions to their files, creating what is missing; other replica counts stay as they are.

        Of each replica count the newest `keep` sessions stay, less those that are `outdated`. A session that is there
        already is not added again. Hand-set limits and comments are kept. Every file is checked before the first is
        written. Safe against other processes that save at the same time, and against being killed.

        Raises:
            ValueError: `keep` is below 1.
        """
        if keep < 1:
            raise ValueError(f"a baseline keeps at least one session, not {keep}")
        groups: dict[Path, list[BaselineEntry]] = {}
        for entry in entries:
            groups.setdefault(self._path(entry.environment, entry.name), []).append(entry)
        for path, group in groups.items():
            _rendered(path, None, group, keep, None)
            if len(groups) > 1:
                _merged(path, self._reader.content(path), group, keep, outdated)
        saved: list[SavedFile] = []
        for path, group in groups.items():
            try:
                with locked_folder(path.parent) as alone:
                    content = self._reader.content(path)
                    text, note = _rendered(path, content, group, keep, outdated)
                    if content is None or content.text != text:
                        replace_content(path, text.encode(), alone)
            except OSError as error:
                raise BaselineError(
                    f"{path}: the baseline cannot be written: {error.strerror or error}. The file is as it was."
                ) from error
            if not alone:
                note = "; ".join(filter(None, [note, "this file system cannot lock: do not save twice at once"]))
            saved.append(SavedFile(path, note))
        return saved

    def _file(self, environment: Environment, name: str) -> BaselineFile | None:
        key = _folder(environment), name
        path = self._paths.get(key) or self._path(environment, name)
        file = self._reader.file(path)
        if file is None:
            return None
        try:
            check_same_place(file, None, environment)
        except FileProblem as problem:
            raise problem_error(path, problem) from problem
        self._paths[key] = path
        return file

    def _path(self, environment: Environment, name: str) -> Path:
        _check_component(name, "baseline name (workload-strategy-variant)")
        folder = _folder(environment)
        _check_component(folder, "environment name")
        return self.inside(self.root / folder / f"{name}.yaml")

    def inside(self, path: Path) -> Path:
        """Resolve the path; a link may lead elsewhere within the root, never out of it."""
        try:
            root, resolved = self.root.resolve(), path.resolve()
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
            raise BaselineError(f"{path}: the path cannot be followed: {error}") from error
        if not resolved.is_relative_to(root):
            raise BaselineError(f"{path} is a link that leads out of {root}, to {resolved}. Replace it by a real file.")
        return resolved


def _merged(
    path: Path, content: Content | None, entries: Sequence[BaselineEntry], keep: int, outdated: Outdated | None
) -> tuple[Data, str]:
    data, file = (content.document.data, content.file) if content else (None, None)
    try:
        return merged(data, file, entries, keep, outdated)
    except FileProblem as problem:
        raise problem_error(path, problem) from problem


def _rendered(
    path: Path, content: Content | None, entries: Sequence[BaselineEntry], keep: int, outdated: Outdated | None
) -> tuple[str, str]:
    """Text that the file should have with the entries in it, and a note; refuses what could not be read again."""
    data, note = _merged(path, content, entries, keep, outdated)
    try:
        return checked_text(data, content, f"keep fewer sessions than {keep}"), note
    except FileProblem as problem:
        raise BaselineError(
            f"{path}: this measurement cannot be stored: {problem.problem}. Nothing was written."
        ) from problem


def checked_text(data: Data, content: Content | None, remedy: str) -> str:
    """Text of a file with this data and the comments of its content; raises FileProblem for what would not read back.

    `remedy` is against a file that would be too long.
    """
    try:
        text = render(data, content.document if content else None, "" if content else HEADER)
        text.encode()
    except UnicodeEncodeError:
        raise FileProblem("a text in it is not Unicode") from None
    if len(text) > MAX_CHARACTERS:
        raise FileProblem(f"it would make a file of {len(text)} characters; {remedy}")
    if text != render(data, None, HEADER):  # in this form it is read without the parser, whatever its length
        try:
            check_effort(text)
        except FileProblem:
            raise FileProblem(f"with its comments it would be too long to be read again; {remedy}") from None
    written = read_plain(text) or parse(text).data
    validate(Document(written, {}, {}, ()))
    if written != data:
        raise FileProblem("it would not read back as it is")
    return text


def _folder(environment: Environment) -> str:
    try:
        return environment.name
    except KeyError as error:
        raise BaselineError(f"the environment has no key {error.args[0]}, so it has no baseline folder") from error


def _check_component(name: str, what: str) -> None:
    if not _COMPONENT.fullmatch(name):
        raise BaselineError(
            f"{name!r} cannot be used as a {what}, as it names a file: use letters, digits and - _ . + = , @, "
            "at most 150 of them, not starting with a point."
        )
