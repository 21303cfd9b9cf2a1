"""Appends sessions to the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, CursorResult, insert, select
from sqlalchemy.dialects import postgresql

from pytest_tfperf.errors import ReportError, UsageError
from pytest_tfperf.history.connection import transaction
from pytest_tfperf.history.rows import Row, SessionRows, session_rows
from pytest_tfperf.history.schema import arms, environments, runs, sessions
from pytest_tfperf.report.document import SessionReport


def append_session(report: SessionReport, url: str) -> None:
    """As `history.append`, which see."""
    rows = session_rows(report)
    try:
        transaction(url, "append", lambda connection: _append(connection, rows))
    except UsageError as error:
        raise ReportError(str(error)) from None


def _append(connection: Connection, rows: SessionRows) -> None:
    session = _new_session(connection, rows.session)
    if session is None:
        return
    if rows.environments:
        connection.execute(insert(environments), [{"session_id": session, **row} for row in rows.environments])
    if not rows.arms:
        return
    given = _new_arms(connection, [{"session_id": session, **arm.arm} for arm in rows.arms])
    made = [{"arm_id": id, **run} for id, arm in zip(given, rows.arms) for run in arm.runs]
    if made:
        connection.execute(insert(runs), made)


def _new_session(connection: Connection, row: Row) -> int | None:
    """Its number; None where the session is there already, also where another process is adding it just now."""
    if connection.dialect.name == "postgresql":
        statement = postgresql.insert(sessions).values(row).on_conflict_do_nothing(index_elements=["digest"])
        return connection.scalars(statement.returning(sessions.c.id)).one_or_none()
    # An SQLite file is locked from the transaction's beginning.
    if connection.scalar(select(sessions.c.id).where(sessions.c.digest == row["digest"])) is not None:
        return None
    return _number(connection.execute(insert(sessions).values(row)))


def _new_arms(connection: Connection, new: list[Row]) -> list[int]:
    """Their numbers, in their order: in few statements where the database can, as a server may be far away."""
    if connection.dialect.insert_returning:
        return list(connection.scalars(insert(arms).returning(arms.c.id, sort_by_parameter_order=True), new))
    return [_number(connection.execute(insert(arms).values(row))) for row in new]


def _number(result: CursorResult[Any]) -> int:
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])
