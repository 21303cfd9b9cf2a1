"""Reads the history of arms from the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from itertools import groupby
from statistics import median
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, func, select

from pytest_tfperf.history.acknowledgements import Acknowledgement, stored_acknowledgements
from pytest_tfperf.history.connection import transaction
from pytest_tfperf.history.schema import arms, environments, runs, sessions
from pytest_tfperf.history.series import ArmHistory, ArmKey, Night
from pytest_tfperf.records.comparison import Metric
from pytest_tfperf.records.counting import Disturbed, counting

_KEY = (
    "test",
    "replicas",
    "workload",
    "strategy",
    "variant",
    "device",
    "environment",
    "environment_digest",
    "definition_digest",
)


@dataclass(frozen=True)
class Stored:
    """What was asked for."""

    arms: tuple[ArmHistory, ...]
    """In the order of their names."""
    acknowledgements: tuple[Acknowledgement, ...]


def read_history(url: str, *, pattern: str = "", last: int | None = None) -> Stored:
    """Read the arms whose names match, as far as they were measured in the last so many nights of the database.

    What was measured before the test's definition changed, another batch for instance, is left out: it is another arm.

    Sessions that say nothing of the speed of a line of commits are left out: those of a single round in which nothing
    was judged, and those against another revision, which are a pull request's.

    Args:
        url: Of the database.
        pattern: Of `fnmatch`, for the arm's name; or a part of it. Empty: all.
        last: Days with a session, counted back from the newest; None: all.

    Raises:
        UsageError: the URL cannot be used.
        ReportError: the database cannot be read.
    """
    return transaction(url, "read", lambda connection: _read(connection, pattern, last))


def matches(name: str, pattern: str) -> bool:
    """Whether an arm is meant: ``[`` is no special character, since each name has one."""
    return pattern in name or fnmatchcase(name, pattern.replace("[", "[[]"))


def _read(connection: Connection, pattern: str, last: int | None) -> Stored:
    measured = _newest_definitions(_measured(connection, pattern, _first_day(connection, last)))
    wanted = [part.arm for parts in measured.values() for part in parts]
    values = _values(connection, {arm["id"] for arm in wanted})
    softs = _soft_keys(connection, {arm["session_id"] for arm in wanted})
    found = [_history(key, parts, values, softs) for key, parts in measured.items()]
    return Stored(
        tuple(sorted((each for each in found if each is not None), key=lambda each: _order(each.key))),
        stored_acknowledgements(connection),
    )


def _order(key: ArmKey) -> tuple[object, ...]:
    return (key.test, key.replicas, key.environment, key.environment_digest, key.definition_digest)


@dataclass(frozen=True)
class _Part:
    """An arm in one session."""

    arm: RowMapping
    date: str


@dataclass
class _Values:
    """Of the runs of an arm in one session."""

    found: dict[Metric, list[float]] = field(default_factory=lambda: defaultdict(list))
    runs: int = 0


_COUNTS = and_(sessions.c.smoke == "", sessions.c.against == "")


def _first_day(connection: Connection, last: int | None) -> str:
    """The first day that is asked for; empty: from the beginning."""
    day = func.substr(sessions.c.started, 1, 10)
    if last is None:
        return ""
    days = connection.scalars(select(day).where(_COUNTS).distinct().order_by(day.desc()).limit(last)).all()
    return str(days[-1]) if days else ""


def _measured(connection: Connection, pattern: str, since: str) -> dict[ArmKey, list[_Part]]:
    """The sessions of each arm, oldest first."""
    found: dict[ArmKey, list[_Part]] = defaultdict(list)
    query = (
        select(arms, sessions.c.started, sessions.c.commit, sessions.c.dirty)
        .join(sessions, sessions.c.id == arms.c.session_id)
        .where(and_(arms.c.verdict.is_not(None), _COUNTS, sessions.c.started >= since))
        .order_by(sessions.c.started, sessions.c.id)
    )
    for row in connection.execute(query).mappings():
        key = ArmKey(**{name: row[name] for name in _KEY})
        if not pattern or matches(key.name, pattern):
            found[key].append(_Part(row, row["started"][:10]))
    return found


def _newest_definitions(measured: Mapping[ArmKey, list[_Part]]) -> dict[ArmKey, list[_Part]]:
    newest: dict[tuple[object, ...], ArmKey] = {}
    for key, parts in measured.items():
        arm = (key.test, key.replicas, key.device, key.environment_digest)
        if arm not in newest or parts[-1].arm["started"] > measured[newest[arm]][-1].arm["started"]:
            newest[arm] = key
    return {key: measured[key] for key in newest.values()}


def _values(connection: Connection, wanted: set[int]) -> dict[int, _Values]:
    """Values of the runs that count, by arm in a session; E(N) is of one round, so that a drift hits both its sides."""
    found: dict[int, _Values] = defaultdict(_Values)
    columns = runs.c.arm_id, runs.c.round, runs.c.disturbed, runs.c.throughput, runs.c.reference_throughput
    query = select(*columns, arms.c.replicas).join(arms).order_by(runs.c.arm_id, runs.c.round)
    for part in _chunks(sorted(wanted)):
        rows = connection.execute(query.where(runs.c.arm_id.in_(part)))
        for id, group in groupby(rows, key=lambda row: row.arm_id):
            measured, values = list(group), found[id]
            disturbed = Disturbed(frozenset(row.round for row in measured if row.disturbed))
            rounds = counting([row.round for row in measured], disturbed)
            for row in measured:
                if row.round not in rounds:
                    continue
                values.runs += 1
                values.found["throughput"].append(row.throughput)
                if row.reference_throughput:
                    values.found["reference"].append(row.reference_throughput)
                    values.found["efficiency"].append(row.throughput / (row.replicas * row.reference_throughput))
    return found


def _soft_keys(connection: Connection, wanted: set[int]) -> dict[tuple[int, str], Mapping[str, str]]:
    found: dict[tuple[int, str], Mapping[str, str]] = {}
    columns = select(environments.c.session_id, environments.c.device, environments.c.soft)
    for part in _chunks(sorted(wanted)):
        for session, device, soft in connection.execute(columns.where(environments.c.session_id.in_(part))):
            found[session, device] = soft
    return found


def _chunks(ids: Sequence[int], size: int = 500) -> Iterator[Sequence[int]]:
    """SQLite takes no more than some hundred values in one statement where it is old."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _history(
    key: ArmKey,
    parts: Sequence[_Part],
    values: Mapping[int, _Values],
    softs: Mapping[tuple[int, str], Mapping[str, str]],
) -> ArmHistory | None:
    by_date: dict[str, list[_Part]] = defaultdict(list)
    for part in parts:
        if part.arm["id"] in values:
            by_date[part.date].append(part)
    nights = []
    for date, sessions_of_day in by_date.items():
        latest: Any = sessions_of_day[-1].arm
        measured = [values[part.arm["id"]] for part in sessions_of_day]
        together: dict[Metric, list[float]] = defaultdict(list)
        for each in measured:
            for metric, found in each.found.items():
                together[metric] += found
        nights.append(
            Night(
                date=date,
                commit=latest["commit"],
                dirty=latest["dirty"],
                soft=softs.get((latest["session_id"], key.device), {}),
                verdict=latest["verdict"],
                values={metric: median(found) for metric, found in together.items()},
                runs=sum(each.runs for each in measured),
            )
        )
    if not nights:
        return None
    return ArmHistory(key, tuple(nights), bool(parts[-1].arm["own_reference"]))


def today() -> str:
    """UTC, as nights are dated."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")


def days_after(date: str, days: int) -> str:
    return (datetime.strptime(date, "%Y-%m-%d") + timedelta(days=days)).strftime("%Y-%m-%d")
