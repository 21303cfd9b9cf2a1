"""A history in PostgreSQL: a real server, that is away, hangs, refuses or breaks off as real ones do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.config import Outputs
from pytest_tfperf.errors import ReportError
from pytest_tfperf.history import append, connection
from pytest_tfperf.history.reading import read_history
from pytest_tfperf.history.schema import SCHEMA_VERSION
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.reporting import write_reports
from tests.history.nights import TEST, date_of, store
from tests.history.postgres_server import PASSWORD, QUOTED, PostgresServer


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


def counted(postgres: PostgresServer, url: str, table: str = "tfperf_sessions") -> int:
    ((count,),) = postgres.execute(f"SELECT count(*) FROM {table}", name_of(url))
    return int(count)


def refused(report: SessionReport, url: str) -> str:
    """The error of an `append` that fails: one line, without the password."""
    with pytest.raises(ReportError) as caught:
        append(report, url)
    text = str(caught.value)
    assert "\n" not in text
    assert PASSWORD not in text
    assert QUOTED not in text
    assert "127.0.0.1" in text
    return text


def test_what_is_read_is_what_was_written(database: str, tmp_path: Path) -> None:
    """Both databases give the same nights of the same sessions."""
    made = store(database, tmp_path / "one", [0.0, 0.0, 0.05])
    for session in made:
        append(session, f"sqlite:///{tmp_path / 'perf.db'}")
    there = read_history(database)
    assert there == read_history(f"sqlite:///{tmp_path / 'perf.db'}")
    arm = next(arm for arm in there.arms if arm.key.name == f"{TEST}[4]")
    assert [night.date for night in arm.nights] == [date_of(number) for number in range(3)]
    assert arm.nights[2].soft["tensorflow"] == "2.21.0"


def test_the_same_report_twice_is_one_session(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    append(report, database)
    append(report, database)
    assert counted(postgres, database) == 1
    assert counted(postgres, database, "tfperf_arms") == len(report.cases)


def test_a_url_without_a_driver_means_psycopg(database: str, report: SessionReport) -> None:
    append(report, database.replace("postgresql+psycopg://", "postgresql://"))
    assert read_history(database.replace("postgresql+psycopg://", "postgres://")).arms


def test_first_sessions_at_once(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    different = [replace(report, seconds=float(number)) for number in range(6)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda each: append(each, database), [*different, *different]))
    assert counted(postgres, database) == 6
    assert counted(postgres, database, "tfperf_arms") == 6 * len(report.cases)
    assert postgres.execute("SELECT version FROM tfperf_schema", name_of(database)) == [(SCHEMA_VERSION,)]


def test_a_newer_schema(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    append(report, database)
    postgres.execute("UPDATE tfperf_schema SET version = 2", name_of(database))
    assert "a newer pytest-tfperf made it: upgrade this one" in refused(report, database)


def test_a_wrong_password(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    with pytest.raises(ReportError) as caught:
        append(report, postgres.url(name_of(database), "n0t-this"))
    assert 'password authentication failed for user "tfperf"' in str(caught.value)
    assert "n0t-this" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_such_database(postgres: PostgresServer, report: SessionReport) -> None:
    assert 'database "nowhere" does not exist' in refused(report, postgres.url("nowhere"))


def test_a_server_that_was_stopped(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    postgres.stop()
    assert "refused" in refused(report, database).lower()
    (line,) = write_reports(report, Outputs(history=database))
    assert line.failed
    assert line.text.startswith("history was not written: postgresql+psycopg://tfperf:***@127.0.0.1:")
    postgres.start()
    append(report, database)
    assert counted(postgres, database) == 1


def test_a_server_that_accepts_and_says_nothing(report: SessionReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 2)  # the least that libpq takes
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql+psycopg://tfperf:{QUOTED}@127.0.0.1:{silent.getsockname()[1]}/perf"
        assert "timeout" in refused(report, url)


def test_a_server_that_freezes_midway(
    postgres: PostgresServer, database: str, report: SessionReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(report, database)
    monkeypatch.setattr(connection, "TOTAL_SECONDS", 1.5)
    with relay(postgres.port, stops_after=6_000, closes=False) as port:
        url = database.replace(f":{postgres.port}/", f":{port}/")
        assert "did not answer within 1.5 s" in refused(replace(report, seconds=1.0), url)
    assert counted(postgres, database) == 1


def test_a_connection_that_is_lost_midway(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    append(report, database)
    with relay(postgres.port, stops_after=6_000, closes=True) as port:
        url = database.replace(f":{postgres.port}/", f":{port}/")
        assert "connection" in refused(replace(report, seconds=1.0), url)
    assert counted(postgres, database) == 1
    append(replace(report, seconds=1.0), database)
    assert counted(postgres, database) == 2


def test_a_table_that_somebody_locked(
    postgres: PostgresServer, database: str, report: SessionReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(report, database)
    monkeypatch.setattr(connection, "LOCK_SECONDS", 1)
    with postgres.connect(name_of(database)) as other:
        other.execute("BEGIN; LOCK TABLE tfperf_sessions IN ACCESS EXCLUSIVE MODE")
        assert "lock timeout" in refused(replace(report, seconds=1.0), database)
        other.execute("ROLLBACK")
    append(replace(report, seconds=1.0), database)


def test_a_user_who_may_not_write(postgres: PostgresServer, database: str, report: SessionReport) -> None:
    append(report, database)
    name = name_of(database)
    postgres.execute(
        "CREATE ROLE reader LOGIN PASSWORD 'look-only'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", name
    )
    try:
        url = f"postgresql+psycopg://reader:look-only@127.0.0.1:{postgres.port}/{name}"
        assert read_history(url) == read_history(database)
        with pytest.raises(ReportError, match="permission denied for table tfperf_sessions"):
            append(replace(report, seconds=1.0), url)
    finally:
        postgres.execute("DROP OWNED BY reader; DROP ROLE reader", name)


@contextmanager
def relay(port: int, *, stops_after: int, closes: bool) -> Iterator[int]:
    """A line to the server that carries so many bytes towards it: then it closes, or carries no more of them."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        ends: list[socket.socket] = []
        worker = threading.Thread(target=_carry, args=(door, port, stops_after, closes, ends))
        worker.start()
        try:
            yield door.getsockname()[1]
        finally:
            for end in ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            worker.join()
            for end in ends:
                end.close()


def _carry(door: socket.socket, port: int, stops_after: int, closes: bool, ends: list[socket.socket]) -> None:
    client, _ = door.accept()
    server = socket.create_connection(("127.0.0.1", port))
    ends += [client, server]
    back = threading.Thread(target=_pump, args=(server, client, None))
    back.start()
    _pump(client, server, stops_after)
    if closes:
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
    back.join()


def _pump(source: socket.socket, target: socket.socket, most: int | None) -> None:
    carried = 0
    with suppress(OSError):
        while most is None or carried < most:
            data = source.recv(4096 if most is None else min(4096, most - carried))
            if not data:
                break
            carried += len(data)
            target.sendall(data)
