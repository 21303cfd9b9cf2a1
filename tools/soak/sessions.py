"""Sessions in a row: a real pytest on a small suite with a baseline, a history and every report."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from ruamel.yaml import YAML

from tests.gate.environ import environ
from tools.soak import census
from tools.soak.control import TIME_BOUND, control, seconds_of
from tools.soak.growth import Answer, Growth, judge_count, judge_slope, judge_time

SUITE = """
import pytest
from steady import steady

@pytest.mark.tfperf(steady, strategy="multi_worker_mirrored", replicas=[2], tolerance=0.4, batch_size=8)
def test_scales(tfperf):
    tfperf.check()

def test_cluster(tf_cluster):
    assert len(tf_cluster(workers=2, ps=1).run(lambda task: task.id)) == 3
"""
LEAK = """
def test_that_leaves_a_file():
    import pathlib, tempfile, uuid
    pathlib.Path(tempfile.gettempdir(), uuid.uuid4().hex).touch()
"""
KEPT = 3
"""Saving sessions that a baseline keeps."""
SAVES_EVERY = 5
IN_BASELINE = "sessions in the baseline"
_DEADLINE = 600
_TOP = Path(__file__).parents[2]


@dataclass(frozen=True)
class Record:
    """One session."""

    index: int
    seconds: float
    control: float
    counts: dict[str, int]
    kilobytes: dict[str, float]
    rows: dict[str, int]
    """Of each table of the history."""


def run(count: int, out: IO[str], *, leaks: bool = False) -> list[Growth]:
    """Run `count` sessions in one folder of a project, write a record of each to `out`, and judge.

    `leaks`: each leaves a file on purpose.
    """
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        project, temporary = Path(folder, "project"), Path(folder, "tmp")
        for each in (project, temporary):
            each.mkdir()
        (project / "test_suite.py").write_text(SUITE + LEAK * leaks)
        (project / "pytest.ini").write_text("[pytest]\n")
        mark = uuid.uuid4().hex
        variables = environ(_TOP, **{"TMPDIR": str(temporary), census.MARK: mark})
        records = []
        for index in range(count):
            before_it = control()
            saves = index % SAVES_EVERY == 0
            seconds = seconds_of(lambda saves=saves: _session(project, variables, saves=saves))  # type: ignore[misc]
            records.append(_record(index, seconds, before_it, project, temporary, mark))
            out.write(json.dumps(asdict(records[-1])) + "\n")
            out.flush()
        return judged(records)


def judged(records: list[Record]) -> list[Growth]:
    """The baseline from the session on that fills it, counts from the first; the history grows by as much each time."""
    kept = records[min((KEPT - 1) * SAVES_EVERY, len(records) - 1) :]
    found = [
        judge_count(name, [one.counts[name] for one in (kept if name == IN_BASELINE else records)])
        for name in kept[0].counts
    ]
    for name in kept[0].kilobytes:
        found.append(judge_slope(f"KiB of {name}", [one.kilobytes[name] for one in kept], 8.0))
    for table in records[-1].rows:
        # Gates have as many rounds as they need, so rows of runs differ; the others are the same in every session.
        added = [now.rows[table] - before.rows[table] for before, now in itertools.pairwise(records)]
        steady = table == "tfperf_runs" or len(set(added)) <= 1
        if added:
            low, high = min(added), max(added)
            text = f"{low} a session" if low == high else f"{low} to {high} a session"
            answer: Answer = "flat" if steady and low > 0 else "grew"
            found.append(Growth(f"rows of {table}", answer, records[0].rows[table], records[-1].rows[table], text))
    plain = [one for one in kept if one.index % SAVES_EVERY]
    times, controls = [one.seconds for one in plain], [one.control for one in plain]
    found.append(judge_time("seconds a session", {"": times}, {"": controls}, TIME_BOUND))
    return found


def _session(project: Path, variables: dict[str, str], *, saves: bool) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "unwatched", "--rootdir", str(project)]
    command += ["--tfperf-window=0.1", "--tfperf-wait=0", "--tfperf-rounds=2", f"--tfperf-keep-sessions={KEPT}"]
    command += [f"--tfperf-{name}={project / 'out'}.{name}" for name in ("json", "html", "markdown")]
    command += [f"--junit-xml={project / 'out.xml'}", f"--tfperf-history=sqlite:///{project / 'history.db'}"]
    if saves:
        command.append("--tfperf-force-save")  # two rounds are too few for it to save by itself
    done = subprocess.run(
        command, cwd=project, env=variables, capture_output=True, text=True, timeout=_DEADLINE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _record(index: int, seconds: float, before_it: float, project: Path, temporary: Path, mark: str) -> Record:
    (baseline,) = (project / "baselines").glob("*/*.yaml")
    document = YAML(typ="safe").load(baseline)
    counts = {
        "processes left": len(census.still_there(mark, census.PATIENCE)),
        "files in the project": len(list(project.rglob("*"))),
        "files in pytest's cache": len(list((project / ".pytest_cache").rglob("*"))),
        "files in TMPDIR": len(list(temporary.rglob("*"))),
        IN_BASELINE: len(document["replicas"][2]["sessions"]),
    }
    sizes = {
        "the baseline": baseline,
        "the JSON report": project / "out.json",
        "the HTML report": project / "out.html",
        "pytest's cache": project / ".pytest_cache",
    }
    kilobytes = {name: _bytes(path) / 1024 for name, path in sizes.items()}
    with contextlib.closing(sqlite3.connect(project / "history.db")) as history:
        tables = [name for (name,) in history.execute("select name from sqlite_master where type = 'table'")]
        rows = {
            name: int(history.execute(f"select count(*) from {name}").fetchone()[0])
            for name in sorted(tables)
            if name in ("tfperf_sessions", "tfperf_environments", "tfperf_arms", "tfperf_runs")
        }
    return Record(index, seconds, before_it, counts, kilobytes, rows)


def _bytes(path: Path) -> int:
    return sum(one.stat().st_size for one in ([path] if path.is_file() else path.rglob("*")) if one.is_file())
