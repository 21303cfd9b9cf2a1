"""Appends sessions to the database."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects import postgresql, sqlite

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
    given = connection.scalars(
        insert(arms).returning(arms.c.id, sort_by_parameter_order=True),
        [{"session_id": session, **arm.arm} for arm in rows.arms],
    ).all()
    made = [{"arm_id": id, **run} for id, arm in zip(given, rows.arms) for run in arm.runs]
    if made:
        connection.execute(insert(runs), made)


def _new_session(connection: Connection, row: Row) -> int | None:
    """Its number; None where the session is there already, also where another process is adding it just now."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(sessions).values(row).on_conflict_do_nothing(index_elements=["digest"])
    if connection.execute(statement).rowcount == 0:
        return None
    return connection.scalars(select(sessions.c.id).where(sessions.c.digest == row["digest"])).one()
