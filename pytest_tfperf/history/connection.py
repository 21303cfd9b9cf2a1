"""One transaction with a database that may be away, slow, full, locked, or not what it should be."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Literal, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from pytest_tfperf.errors import ReportError, UsageError
from pytest_tfperf.history.deadline import Deadline, GaveUpError, within
from pytest_tfperf.history.schema import SCHEMA_VERSION, metadata, schema
from pytest_tfperf.history.url import shown_url
from pytest_tfperf.redaction import hide_passwords, passwords_of

Result = TypeVar("Result")
Mode = Literal["read", "write", "append"]
"""`append` also creates what is not there."""

CONNECT_SECONDS = 3
"""For each address of a host."""
LOCK_SECONDS = 3
"""Waiting for another session's transaction."""
STATEMENT_SECONDS = 5
TOTAL_SECONDS = 8.0
"""For all of a transaction that writes: at the end of a session somebody may be waiting for the verdicts."""
READ_SECONDS = 60.0
"""For all of one that reads for somebody who asked for it."""

_CREATION_LOCK = 0x7466_7065_7266  # an advisory lock of PostgreSQL's, by a number of our own


def database_url(url: str) -> URL:
    """Parse a URL, and make sure that there is a driver for it.

    ``postgresql://`` and ``postgres://`` mean psycopg.

    Raises:
        UsageError: not a URL, a database that is not supported, or one whose driver is not installed.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise UsageError(
            f"{shown_url(url)}: not the URL of a database; for instance perf-history.db for an SQLite file, or "
            "postgresql+psycopg://user@host/database"
        ) from None
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise UsageError(
            f"{shown_url(url)}: a history cannot be kept in {parsed.drivername}; use an SQLite file's path, or "
            "postgresql+psycopg://user@host/database"
        )
    if parsed.drivername == "postgresql+psycopg" and not _has_psycopg():
        raise UsageError(
            f"{shown_url(url)} needs the Python package psycopg, with libpq: pip install 'pytest-tfperf[postgres]'"
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise UsageError(f"{url}: a database in memory ends with the session; give a file, sqlite:///perf-history.db")
    return parsed


def transaction(url: str, mode: Mode, work: Callable[[Connection], Result]) -> Result:
    """Do the work in one transaction; with an error nothing of it is kept.

    Raises:
        UsageError: as `database_url` has it.
        ReportError: the database cannot be reached, read or written in time, or has no history, or one of another
            version; in one line, without the password.
    """
    target = database_url(url)
    if mode != "append" and (file := sqlite_file(target)) is not None and not os.path.exists(file):
        raise ReportError(f"{file}: no such file; pytest --tfperf-history {file} makes it")
    seconds = READ_SECONDS if mode == "read" else TOTAL_SECONDS
    try:
        return within(seconds, lambda deadline: _transaction(target, mode, work, deadline))
    except GaveUpError:
        raise ReportError(f"{shown_url(url)}: did not answer within {seconds:g} s") from None
    except DBAPIError as error:
        raise ReportError(f"{shown_url(url)}: {_reason(error.orig or error, url)}") from None
    except SQLAlchemyError as error:
        raise ReportError(f"{shown_url(url)}: {_reason(error, url)}") from None
    except _SchemaError as error:
        raise ReportError(f"{shown_url(url)}: {error}") from None
    except Exception as error:  # whatever a driver raises: a history must not cost a verdict
        raise ReportError(f"{shown_url(url)}: {type(error).__name__}: {_reason(error, url)}") from error


def sqlite_file(url: URL) -> str | None:
    """Path of an SQLite file; None for another database, or where SQLite gets a URI of its own."""
    name = url.database or ""
    return name if url.get_backend_name() == "sqlite" and not name.startswith("file:") else None


class _SchemaError(Exception):
    """Its text says what is wrong with the tables."""


def _transaction(url: URL, mode: Mode, work: Callable[[Connection], Result], deadline: Deadline) -> Result:
    engine = _engine(url, mode)
    try:
        with _breakable(engine, deadline), engine.connect() as connection, connection.begin():
            _bound_waits(connection, mode)
            _check_schema(connection, mode)
            result = work(connection)
            deadline.check()
            return result
    except NoSuchModuleError as error:  # an SQLAlchemy without this dialect
        raise _SchemaError(str(error)) from None
    finally:
        engine.dispose()


def _engine(url: URL, mode: Mode) -> Engine:
    """An engine that waits for a connection, or for the lock of a file, for so long at most."""
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": LOCK_SECONDS})
        _take_over_transactions(engine, "BEGIN" if mode == "read" else "BEGIN IMMEDIATE")
        return engine
    return create_engine(
        url,
        poolclass=NullPool,
        pool_reset_on_return=None,  # closing it undoes what was not committed
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "pytest-tfperf",
            "prepare_threshold": None,  # a pooler in between may hand what was prepared to another client
        },
    )


def _bound_waits(connection: Connection, mode: Mode) -> None:
    """Have the server give up waiting; in the transaction alone, which poolers leave as it is."""
    if connection.dialect.name != "postgresql":
        return
    statement = READ_SECONDS if mode == "read" else STATEMENT_SECONDS
    for name, seconds in (("statement_timeout", statement), ("lock_timeout", LOCK_SECONDS)):
        connection.execute(select(func.set_config(name, str(round(1000 * seconds)), True)))


@contextmanager
def _breakable(engine: Engine, deadline: Deadline) -> Iterator[None]:
    """While this holds, the deadline's end shuts the connection to a server down.

    Whoever waits for it gets an error then, and the server undoes what was not committed.
    """
    lines: list[socket.socket] = []

    def shut() -> None:
        for line in lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def connected(connection: object, record: object) -> None:
        if hasattr(connection, "fileno"):  # psycopg's; sqlite3 has none
            # a descriptor of our own: the connection's may be closed, and its number another file's, at that moment
            lines.append(socket.socket(fileno=os.dup(connection.fileno())))
        deadline.on_end(shut)

    event.listen(engine, "connect", connected)
    try:
        yield
    finally:
        for line in lines:
            line.close()


def _take_over_transactions(engine: Engine, begin: str) -> None:
    """Let a transaction begin where we say so, and hold what changes tables too: sqlite3 begins late by itself.

    IMMEDIATE, so that whoever is going to write waits at the beginning, where waiting helps. The recipe is SQLAlchemy's
    own, from its page on SQLite.
    """

    @event.listens_for(engine, "connect")
    def connected(connection: object, record: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined]  # sqlite3's

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


def _check_schema(connection: Connection, mode: Mode) -> None:
    if not inspect(connection).has_table(schema.name):
        if mode != "append":
            raise _SchemaError("has no history of pytest-tfperf; pytest --tfperf-history URL makes it")
        _create(connection)
    versions = list(connection.scalars(select(schema.c.version)))
    if versions == [SCHEMA_VERSION]:
        return
    newest = max(versions, default=0)
    newer = "; a newer pytest-tfperf made it: upgrade this one" if newest > SCHEMA_VERSION else ""
    raise _SchemaError(f"its tables are of version {newest}, this pytest-tfperf knows {SCHEMA_VERSION}{newer}")


def _create(connection: Connection) -> None:
    """Make the tables, unless another session has made them while this one waited.

    PostgreSQL's CREATE TABLE IF NOT EXISTS fails where two run at once, hence the lock. An SQLite file is locked.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
        if inspect(connection).has_table(schema.name):
            return
    metadata.create_all(connection)
    connection.execute(insert(schema).values(version=SCHEMA_VERSION))


def _reason(error: BaseException, url: str) -> str:
    """What went wrong in one line, and none of the passwords."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = "; ".join(lines[:2]) or type(error).__name__
    for password in passwords_of(url):
        reason = reason.replace(password, "***")
    reason = re.sub(r"\s+", " ", hide_passwords(reason))
    hint = {
        "database is locked": f"another program held it for more than {LOCK_SECONDS} s",
        "lock timeout": f"another session held it for more than {LOCK_SECONDS} s",
    }
    return next((f"{reason} ({why})" for what, why in hint.items() if what in reason), reason)


def _has_psycopg() -> bool:
    if find_spec("psycopg") is None:
        return False
    try:
        import psycopg  # noqa: F401  # without libpq it is there, and cannot be imported
    except ImportError:
        return False
    return True
