"""A server and sessions for the tests of the history."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg  # noqa: F401  # pytester forgets what was first imported within it, and a C module cannot be made twice
import pytest
import sqlalchemy.dialects.postgresql  # noqa: F401

from benchmarks.canned_report import canned_report
from pytest_tfperf.report.document import SessionReport
from tests.history.postgres_server import PostgresServer

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """URL of an empty database."""
    with postgres.database(f"history_{next(_numbers)}") as url:
        yield url


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    """A session of 24 arms: some slower, some without a result, some skipped."""
    return canned_report(tmp_path_factory.mktemp("session"), 24)
