"""A history in an SQLite file: what is stored, and files that are in use, damaged or not for us."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from sqlalchemy import create_engine, insert, update

from pytest_tfperf.errors import ReportError
from pytest_tfperf.history import append, connection
from pytest_tfperf.history.reading import read_history
from pytest_tfperf.history.schema import SCHEMA_VERSION, schema
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import from_json, to_json
from pytest_tfperf.report.measured import MeasuredArm
from tests.history.nights import TEST, date_of, store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "perf.db"


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def test_everything_is_stored_once(file: Path, report: SessionReport) -> None:
    url = f"sqlite:///{file}"
    append(report, url)
    append(from_json(to_json(report), "the same, read from its file"), url)
    ((started, commit, dirty, plugin, exit_status),) = rows(
        file, 'SELECT started, "commit", dirty, plugin, exit_status FROM tfperf_sessions'
    )
    assert (started, commit, bool(dirty), plugin, exit_status) == (
        report.started,
        report.commit,
        report.dirty,
        report.plugin,
        report.exit_status,
    )
    ((environment, device),) = rows(file, "SELECT name, device FROM tfperf_environments")
    assert (environment, device) == (report.places["cpu"].name, "cpu")
    stored = rows(
        file,
        "SELECT test, replicas, outcome, verdict, throughput, throughput_low, efficiency, rounds FROM tfperf_arms",
    )
    expected = []
    for case in report.cases:
        found, sweep = case.judgement, report.sweep_of(case)
        arm = (
            next((arm for arm in sweep.arms if arm.replicas == case.replicas and arm.role == "measured"), None)
            if sweep
            else None
        )
        expected.append(
            (
                case.test,
                case.replicas,
                case.outcome,
                str(found.verdict) if found else None,
                found.throughput.value if found else None,
                found.throughput.low if found else None,
                found.efficiency.value if found else None,
                len(arm.runs) if arm else 0,
            )
        )
    assert stored == expected
    assert {outcome for _, _, outcome, *_ in stored} >= {"passed", "failed"}
    ((runs, paired),) = rows(file, "SELECT count(*), count(reference_throughput) FROM tfperf_runs")
    assert runs == paired == sum(row[-1] for row in expected)


def test_an_sqlite_that_cannot_return_what_it_inserts(
    file: Path, report: SessionReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(report, f"sqlite:///{file}")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 26, 0))  # SQLAlchemy looks at it
    old = tmp_path / "old.db"
    append(report, f"sqlite:///{old}")
    for table in ("sessions", "environments", "arms", "runs"):
        assert rows(old, f"SELECT * FROM tfperf_{table}") == rows(file, f"SELECT * FROM tfperf_{table}")


def test_another_session_is_another_row(file: Path, report: SessionReport) -> None:
    append(report, f"sqlite:///{file}")
    append(replace(report, started="2026-01-02T00:00:00Z"), f"sqlite:///{file}")
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(2,)]


def test_nights_are_read_as_they_were_measured(file: Path, tmp_path: Path) -> None:
    made = store(f"sqlite:///{file}", tmp_path / "session", [0.0] * 4)
    found = {arm.key.name: arm for arm in read_history(f"sqlite:///{file}").arms}
    assert set(found) == {f"{TEST}[{count}]" for count in (1, 2, 4, 8)}
    arm = found[f"{TEST}[4]"]
    assert [night.date for night in arm.nights] == [date_of(number) for number in range(4)]
    sweep = made[2].sweeps[0]
    own = [run.throughput for each in sweep.arms if each.replicas == 4 for run in each.runs]
    assert arm.nights[2].values["throughput"] == median(own)
    assert arm.nights[2].commit == made[2].commit
    assert arm.nights[2].soft["tensorflow"] == "2.20.0"
    last = {arm.key.name: arm for arm in read_history(f"sqlite:///{file}", pattern="canned0[4]", last=2).arms}
    assert list(last) == [f"{TEST}[4]"]
    assert len(last[f"{TEST}[4]"].nights) == 2


def test_a_round_that_something_disturbed_is_none_of_a_night(file: Path, report: SessionReport) -> None:
    def measured(arm: MeasuredArm) -> MeasuredArm:
        first = arm.runs[0]
        runs = [replace(first, round=number, throughput=number * first.throughput) for number in range(1, 6)]
        if arm.replicas == 4:
            runs[1] = replace(runs[1], throughput=1e-3, disturbances=("others",), outside=True)
        return replace(arm, runs=tuple(runs))

    sweep = report.sweeps[0]
    first = next(arm.runs[0].throughput for arm in sweep.arms if arm.replicas == 4)
    append(replace(report, sweeps=(replace(sweep, arms=tuple(map(measured, sweep.arms))),)), f"sqlite:///{file}")
    (arm,) = read_history(f"sqlite:///{file}", pattern="canned0[4]").arms
    (night,) = arm.nights
    assert night.values["throughput"] == pytest.approx(3.5 * first)  # of 1, 3, 4 and 5 times


def test_what_says_nothing_of_a_branch_is_no_night(file: Path, report: SessionReport) -> None:
    append(replace(report, against="origin/main"), f"sqlite:///{file}")
    append(replace(report, settings=replace(report.settings, smoke="a smoke run")), f"sqlite:///{file}")
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(2,)]
    assert read_history(f"sqlite:///{file}").arms == ()


def test_another_definition_is_another_arm(file: Path, report: SessionReport) -> None:
    other = tuple(replace(sweep, definition={**sweep.definition, "workload.batch_size": 7}) for sweep in report.sweeps)
    append(report, f"sqlite:///{file}")
    append(replace(report, sweeps=other, started="2999-01-01T00:00:00Z"), f"sqlite:///{file}")
    assert {night.date for arm in read_history(f"sqlite:///{file}").arms for night in arm.nights} == {"2999-01-01"}


def test_two_writers_at_once(file: Path, report: SessionReport) -> None:
    different = [replace(report, seconds=float(number)) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: append(each, f"sqlite:///{file}"), [*different, *different]))
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(8,)]
    assert rows(file, "SELECT version FROM tfperf_schema") == [(SCHEMA_VERSION,)]


WRITER = """
import sys
from pathlib import Path
from statistics import median
from dataclasses import replace
from pytest_tfperf.history import append
from pytest_tfperf.report.json_file import read_json
report = read_json(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(5):
    append(replace(report, seconds=float(sys.argv[3]) + number), sys.argv[2])
"""


def test_two_processes_at_once(file: Path, report: SessionReport, tmp_path: Path) -> None:
    saved = tmp_path / "report.json"
    saved.write_bytes(to_json(report))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(saved), f"sqlite:///{file}", number], stdin=subprocess.PIPE, text=True
        )
        for number in ("100", "200")
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(10,)]


def test_a_locked_file(file: Path, report: SessionReport, monkeypatch: pytest.MonkeyPatch) -> None:
    append(report, f"sqlite:///{file}")
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.2)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ReportError, match=r"perf\.db: database is locked \(another program held it for more than"):
            append(replace(report, seconds=1.0), f"sqlite:///{file}")
        other.execute("ROLLBACK")
    append(replace(report, seconds=1.0), f"sqlite:///{file}")
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(2,)]


def test_a_read_only_file(file: Path, report: SessionReport) -> None:
    append(report, f"sqlite:///{file}")
    # SQLite's own way to ask for it, which binds root too
    with pytest.raises(ReportError, match="attempt to write a readonly database"):
        append(replace(report, seconds=1.0), f"sqlite:///file:{file}?mode=ro&uri=true")
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(1,)]


def test_a_folder_in_which_no_file_can_be_made(report: SessionReport) -> None:
    with pytest.raises(ReportError, match=r"^/proc/perf\.db: unable to open database file$"):
        append(report, "sqlite:////proc/perf.db")


def test_a_newer_schema(file: Path, report: SessionReport) -> None:
    append(report, f"sqlite:///{file}")
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as database:
        database.execute(update(schema).values(version=SCHEMA_VERSION + 1))
    engine.dispose()
    for use in (lambda: append(report, f"sqlite:///{file}"), lambda: read_history(f"sqlite:///{file}")):
        with pytest.raises(
            ReportError, match="of version 2, this pytest-tfperf knows 1; a newer pytest-tfperf made it"
        ):
            use()


def test_a_schema_of_two_versions_is_none(file: Path, report: SessionReport) -> None:
    append(report, f"sqlite:///{file}")
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as database:
        database.execute(insert(schema).values(version=0))
    engine.dispose()
    with pytest.raises(ReportError, match="its tables are of version"):
        append(report, f"sqlite:///{file}")


@pytest.mark.parametrize("left", [0.9, 0.5, 0.01])
def test_a_truncated_file(file: Path, report: SessionReport, left: float) -> None:
    append(report, f"sqlite:///{file}")
    data = file.read_bytes()
    file.write_bytes(data[: int(left * len(data))])
    with pytest.raises(ReportError, match=r"perf\.db: .*(malformed|not a database|disk I/O error)"):
        append(replace(report, seconds=1.0), f"sqlite:///{file}")


def test_no_database_at_all(file: Path, report: SessionReport) -> None:
    file.write_text("a text that is longer than the head of an SQLite file, which has a hundred bytes " * 20)
    with pytest.raises(ReportError, match="file is not a database"):
        append(report, f"sqlite:///{file}")
    assert file.read_text().startswith("a text")


def test_a_database_of_somebody_else(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE sessions (id INTEGER)")
    with pytest.raises(ReportError, match="has no history of pytest-tfperf"):
        read_history(f"sqlite:///{file}")


def test_reading_makes_no_file(file: Path) -> None:
    with pytest.raises(ReportError, match="no such file"):
        read_history(f"sqlite:///{file}")
    assert not file.exists()


def test_a_session_that_breaks_off_leaves_nothing(
    file: Path, report: SessionReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(report, f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON tfperf_runs BEGIN SELECT RAISE(ABORT, 'no more'); END")
    with pytest.raises(ReportError, match="no more"):
        append(replace(report, seconds=1.0), f"sqlite:///{file}")
    assert rows(file, "SELECT count(*) FROM tfperf_sessions") == [(1,)]
