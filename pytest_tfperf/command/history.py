"""`tfperf history`: trends and change points of every arm; `tfperf history acknowledge`: those that are known."""

from __future__ import annotations

import argparse
import getpass
import os
import shutil
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tfperf.command.codes import FINE, REGRESSED
from pytest_tfperf.command.printing import save, write
from pytest_tfperf.errors import UsageError
from pytest_tfperf.history import check_url
from pytest_tfperf.history.url import full_url, shown_url
from pytest_tfperf.report.targets import check_apart

if TYPE_CHECKING:
    from pytest_tfperf.command.program import Subparsers
    from pytest_tfperf.history.changes import ArmTrend, Change
    from pytest_tfperf.history.terminal import Terminal

VARIABLE = "TFPERF_HISTORY"
FILE = "perf-history.db"
NIGHTS = 90
DAYS = 30
_MOST_NIGHTS = 100_000

_NEEDS = {"sqlalchemy": "SQLAlchemy", "ruptures": "ruptures", "plotext": "plotext"}


def add(subparsers: Subparsers) -> None:
    """Declare the sub-command; `run` of its arguments gives the exit code."""
    parser = subparsers.add_parser(
        "history",
        help="trends and change points of a database that sessions were appended to",
        description="Show the trend and the change points of every arm. Exit code 1: there is a change for the worse "
        "that nobody has acknowledged; 2: the command is wrong; 3: the database cannot be read.",
    )
    _add_url(parser, None)
    parser.add_argument("--test", metavar="PATTERN", default="", help="arms whose name matches, or has this in it")
    parser.add_argument("--last", metavar="N", type=_positive, default=NIGHTS, help="nights to look at (%(default)s)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page with a chart of every arm too")
    parser.set_defaults(run=run)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    known = commands.add_parser(
        "acknowledge",
        help="say that a change is known: it does not count for a while",
        description="Acknowledge what got worse in an arm on a night; the database keeps who did, until when and why.",
    )
    _add_url(known, argparse.SUPPRESS)
    known.add_argument("arm", metavar="TEST[N]", help="as the list names it")
    known.add_argument("date", metavar="DATE", help="first night at the new level, as the list has it: 2026-11-20")
    known.add_argument("--days", metavar="N", type=_positive, default=DAYS, help="how long it holds (%(default)s)")
    known.add_argument("--reason", metavar="TEXT", required=True)
    known.add_argument("--by", metavar="NAME", help="who says so (the user's name)")
    known.set_defaults(run=run_acknowledge)


def _add_url(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--url",
        default=default,
        help=f"the database: a file's path or a URL (${VARIABLE}, else {FILE} if there is one)",
    )


def run(arguments: argparse.Namespace) -> int:
    """List the arms that were asked for."""
    url = _url(arguments.url)
    from pytest_tfperf.history.changes import open_changes, trends
    from pytest_tfperf.history.page import PageHead, to_page
    from pytest_tfperf.history.reading import read_history, today
    from pytest_tfperf.history.terminal import history_lines, summary_line
    from pytest_tfperf.history.words import arm_text

    if (file := check_url(url)) is not None:
        check_apart({"--url": file, "--html": arguments.html})
    day = today()
    stored = read_history(url, pattern=arguments.test, last=arguments.last)
    if arguments.test and not stored.arms:
        raise UsageError(f"no arm of the last {arguments.last} nights matches {arguments.test!r}")
    found = trends(stored, day)
    texts = [arm_text(trend, day) for trend in found]
    summary = summary_line(texts)
    write([*history_lines(texts, _terminal()), summary])
    if arguments.html is not None:
        save(arguments.html, to_page(texts, PageHead(shown_url(url), day, summary[0])))
        print(f"HTML page: {arguments.html}")
    return REGRESSED if open_changes(found) else FINE


def run_acknowledge(arguments: argparse.Namespace) -> int:
    """Store acknowledgements of all that got worse in the arm on that night."""
    url = _url(arguments.url)
    from pytest_tfperf.history.acknowledgements import Acknowledgement, store_acknowledgements
    from pytest_tfperf.history.changes import trends
    from pytest_tfperf.history.connection import transaction
    from pytest_tfperf.history.reading import days_after, read_history, today

    if not arguments.reason.strip():
        raise UsageError("--reason is empty; say why the change is all right, for whoever reads it next")
    day = today()
    # the fewest series that hold it: what a look at everything found is found here too
    test = arguments.arm.rpartition("[")[0]
    found = trends(read_history(url, pattern=f"{test}["), day) if test else ()
    changes = _of_arm(found, arguments.arm)
    known = [change for change in changes if change.night.date == arguments.date]
    if not known:
        raise UsageError(_no_such_change(arguments.arm, arguments.date, found, changes))
    until = days_after(day, arguments.days)
    made = [
        Acknowledgement(
            test=change.key.test,
            replicas=change.key.replicas,
            metric=change.metric,
            device=change.key.device,
            environment_digest=change.key.environment_digest,
            definition_digest=change.key.definition_digest,
            date=change.night.date,
            log_change=change.point.log_change,
            made=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            until=until,
            by=arguments.by or _user(),
            reason=arguments.reason.strip(),
        )
        for change in known
    ]
    transaction(url, "write", lambda connection: store_acknowledgements(connection, made))
    labels = ", ".join(dict.fromkeys(change.label for change in known))
    print(f"{arguments.arm}: the change of {labels} on {arguments.date} is acknowledged until {until}")
    return FINE


def _of_arm(found: Iterable[ArmTrend], name: str) -> list[Change]:
    """What got worse in the arm, and in the T(1) that it shares with those measured beside it."""
    found = list(found)
    sweeps = {trend.arm.key.sweep for trend in found if trend.arm.key.name == name}
    return [
        change
        for trend in found
        if trend.arm.key.sweep in sweeps
        for change in trend.changes
        if (change.metric == "reference" or change.key.name == name) and change.point.log_change < 0
    ]


def _no_such_change(name: str, date: str, found: Iterable[ArmTrend], changes: Iterable[Change]) -> str:
    names = sorted({trend.arm.key.name for trend in found})
    if name not in names:
        hint = f"; there are {', '.join(names)}" if names else "; tfperf history lists those that there are"
        return f"no arm {name} in the database{hint}"
    dates = sorted({change.night.date for change in changes})
    where = f"what got worse did so on {', '.join(dates)}" if dates else "nothing got worse there"
    return f"{name} has no change for the worse on {date}; {where}"


def _url(given: str | None) -> str:
    """The database to use; raises UsageError where there is none, or what reads it is not installed."""
    missing = [name for module, name in _NEEDS.items() if find_spec(module) is None]
    if missing:
        raise UsageError(f"the history needs {', '.join(missing)}: pip install 'pytest-tfperf[history]'")
    url = given or os.environ.get(VARIABLE, "")
    if not url:
        if not Path(FILE).exists():
            raise UsageError(f"no database: give --url, or set {VARIABLE}; there is no {FILE} here")
        url = FILE
    return full_url(url, Path.cwd())


def _terminal() -> Terminal:
    from pytest_tfperf.history.terminal import Terminal

    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return Terminal(
        width=shutil.get_terminal_size().columns,
        interactive=sys.stdout.isatty() and os.environ.get("TERM") != "dumb",
        unicode=encoding.startswith("utf"),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return f"user {os.getuid()}"


def _positive(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST_NIGHTS:
        raise argparse.ArgumentTypeError(f"{number} is not from 1 to {_MOST_NIGHTS}")
    return number


_positive.__name__ = "whole number"  # argparse says it of a text that is none
