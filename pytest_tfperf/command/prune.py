"""`tfperf prune`: takes baselines and sessions away that nothing uses any more."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tfperf.baseline.listing import baseline_files
from pytest_tfperf.baseline.pruning import SessionRule, drop_runs, drop_sessions, has_limits
from pytest_tfperf.baseline.reading import Reader
from pytest_tfperf.baseline.schema import BaselineFile
from pytest_tfperf.command.codes import FINE, UNREADABLE
from pytest_tfperf.command.printing import complain
from pytest_tfperf.errors import BaselineError, UsageError
from pytest_tfperf.units import plural

if TYPE_CHECKING:
    from pytest_tfperf.command.program import Subparsers
    from pytest_tfperf.command.suite import Suite

_DESCRIPTION = """\
List what could be removed: with --suite, baselines that no test of the suite is judged against (of every environment's
folder, whether its machine still exists or not); with --older-than and --keep-sessions, old sessions of the others. The
newest session of a replica count always stays, and so do floors, tolerances and comments that people wrote: of a file
that no test names but that has limits set by hand, only the measurements go. Nothing is changed without --yes.
"""


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "prune", help="remove baselines and sessions that nothing uses", description=_DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument(
        "folder", nargs="?", metavar="DIR", type=Path, default=Path("baselines"), help="comes first; default: baselines"
    )
    parser.add_argument(
        "--suite",
        nargs="+",
        metavar="PATH",
        help="the whole suite, as pytest takes it: what its tests do not name is unused; pytest only collects them",
    )
    parser.add_argument(
        "--older-than", type=_count, metavar="DAYS", help="remove sessions that were saved more than DAYS days ago"
    )
    parser.add_argument(
        "--keep-sessions", type=_count, metavar="N", help="remove all but the newest N sessions of a replica count"
    )
    parser.add_argument("--yes", action="store_true", help="do it; without this, only say what would be done")
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be 1 or more")
    return value


_count.__name__ = "whole number"  # argparse says it of a text that is none


def run(given: argparse.Namespace) -> int:
    if given.suite is None and given.older_than is None and given.keep_sessions is None:
        raise UsageError("say what is to be removed: --suite PATH, --older-than DAYS or --keep-sessions N")
    paths = baseline_files(given.folder)
    suite = _suite(given.suite)
    rule = SessionRule(given.keep_sessions, _before(given.older_than))
    work = _Work(given.folder, Reader(), given.yes)
    for path in paths:
        for line in work.on(path, suite, rule):
            print(line)
    print(work.sum_up(len(paths)))
    return UNREADABLE if work.failed else FINE


def _suite(paths: list[str] | None) -> Suite | None:
    if paths is None:
        return None
    from pytest_tfperf.command.suite import collect

    for path in paths:
        if len(paths) > 1 and os.path.isdir(path) and any(map(_looks_saved, baseline_files(Path(path)))):
            raise UsageError(f"--suite {path}: these are baselines, no tests; the folder to prune comes before --suite")
    suite = collect(paths)
    print(f"{plural(suite.tests, 'test')} in {', '.join(paths)}: they name {plural(len(suite.names), 'baseline')}")
    return suite


def _looks_saved(path: Path) -> bool:
    """Whether a YAML file begins as a baseline does; a suite may have others beside its tests."""
    try:
        return b"schema_version:" in path.read_bytes()[:1000]
    except OSError:
        return False


def _before(days: int | None) -> str:
    """The moment so many days ago, as sessions are dated; empty for no limit."""
    if days is None:
        return ""
    try:
        then = datetime.now(timezone.utc) - timedelta(days=days)
    except OverflowError:
        return ""
    return then.isoformat(timespec="seconds").replace("+00:00", "Z")  # strftime does not pad the years of old


@dataclass
class _Work:
    """Goes through the files one at a time; one that is broken stays as it is, and hides no other."""

    root: Path
    reader: Reader
    do: bool
    files: int = 0
    sessions: int = 0
    failed: int = 0

    def on(self, path: Path, suite: Suite | None, rule: SessionRule) -> Iterator[str]:
        try:
            file = self.reader.file(path)
            if file is None:  # somebody removed it since the folder was listed
                return
            if suite is not None and (file.name, _device(file)) not in suite.names:
                yield from self._unused(path, file)
            else:
                yield from self._stale(path, file, rule)
        except BaselineError as error:
            complain(error)
            self.failed += 1

    def _unused(self, path: Path, file: BaselineFile) -> Iterator[str]:
        count = plural(sum(len(entry.sessions) for entry in file.entries.values()), "session")
        if not has_limits(file):
            if self.do and drop_runs(self._top(path), path) != "removed":
                yield f"{path}: changed meanwhile, and left alone"
                return
            self.files += 1
            yield f"{path}: {self._word('removed')}, no test names it ({count})"
        elif file.entries:
            if self.do:
                drop_runs(self._top(path), path)
            self.sessions += sum(len(entry.sessions) for entry in file.entries.values())
            yield f"{path}: {count} {self._word('removed')}, no test names it; its limits that were set by hand stay"
        else:
            yield f"{path}: no test names it, and it has only limits that were set by hand; remove it yourself"

    def _stale(self, path: Path, file: BaselineFile, rule: SessionRule) -> Iterator[str]:
        going: Mapping[int, int] = {count: len(rule.stale(entry)) for count, entry in file.entries.items()}
        if not any(going.values()):
            return
        if self.do:
            going = drop_sessions(self._top(path), path, rule)
        total = sum(going.values())
        self.sessions += total
        counts = ", ".join(f"{number} of {plural(count, 'replica')}" for count, number in _sorted(going))
        yield f"{path}: {plural(total, 'session')} {self._word('removed')} ({counts})"

    def _top(self, path: Path) -> Path:
        """The folder of all environments."""
        return self.root if path.parent != self.root else self.root.resolve().parent

    def _word(self, done: str) -> str:
        return done if self.do else f"would be {done}"

    def sum_up(self, looked_at: int) -> str:
        if not self.files and not self.sessions:
            return f"nothing to remove among {plural(looked_at, 'baseline')}"
        what = " and ".join(
            plural(number, noun) for number, noun in ((self.files, "file"), (self.sessions, "session")) if number
        )
        if not self.do:
            return f"{what} of {plural(looked_at, 'baseline')} would be removed; --yes does it"
        return f"{what} of {plural(looked_at, 'baseline')} removed; review it with git, and commit it"


def _device(file: BaselineFile) -> str:
    return "gpu" if file.hard.get("gpu_count") else "cpu"


def _sorted(going: Mapping[int, int]) -> Iterable[tuple[int, int]]:
    return sorted((count, number) for count, number in going.items() if number)
