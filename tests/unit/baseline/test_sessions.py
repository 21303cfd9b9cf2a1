"""Several sessions in one baseline: which of them stay, how the file's difference reads, and saving at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tfperf.baseline.merge import Outdated
from pytest_tfperf.baseline.reading import HEADER
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.records.baseline import BaselineSession
from tests.unit.baseline.entries import DATE, ENVIRONMENT, FOLDER, annotate, edit, make_entry, make_session, path_of


def day(number: int) -> str:
    return f"2026-12-{number:02}T01:02:05Z"


def stored(root: Path, replicas: int = 2) -> tuple[BaselineSession, ...]:
    found = BaselineStore(root).find(ENVIRONMENT, "mlp-ps_async", replicas)
    assert found is not None
    return found.sessions


def dates(root: Path, replicas: int = 2) -> list[str]:
    return [session.provenance.date for session in stored(root, replicas)]


def test_a_session_joins_the_earlier_ones_and_the_oldest_beyond_five_go(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    notes = [baselines.save([make_entry(date=day(number))])[0].note for number in range(1, 8)]
    assert notes == [
        "first session",
        "joined 1 earlier session",
        "joined 2 earlier sessions",
        "joined 3 earlier sessions",
        "joined 4 earlier sessions",
        "joined 4 earlier sessions, 1 older session removed",
        "joined 4 earlier sessions, 1 older session removed",
    ]
    assert dates(tmp_path) == [day(number) for number in range(3, 8)]
    [saved] = baselines.save([make_entry(date=day(8))], keep=2)
    assert saved.note == "joined 1 earlier session, 4 older sessions removed"
    assert dates(tmp_path) == [day(7), day(8)]


def test_the_difference_of_a_save_is_one_block_more_and_the_oldest_less(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    baselines.save([make_entry(2, date=day(1)), make_entry(4, date=day(1))])
    annotate(path_of(tmp_path), HEADER)
    baselines.save([make_entry(2, date=day(2), throughput=(1700.5, 1750.5, 1800.5))])
    before = path_of(tmp_path).read_text().splitlines()
    baselines.save([make_entry(2, date=day(3), throughput=(1700.5, 1700.25, 1800.5))], keep=2)
    after = path_of(tmp_path).read_text().splitlines()

    def without_session(lines: list[str], date: str) -> list[str]:
        start = lines.index(f"      '{date}':")
        assert lines[start + 12].startswith("          step_time: ")
        return lines[:start] + lines[start + 13 :]

    old, new = without_session(before, day(1)), without_session(after, day(3))
    new.remove("    # pinned")  # a comment of the session that went is kept
    start, stop = old.index("    derived:"), old.index("    # end of two")
    assert old[:start] == new[:start]
    assert old[stop:] == new[stop:]
    names = [line.partition(":")[0] for line in old[start:stop]]
    assert names == [line.partition(":")[0] for line in new[start:stop]]
    assert old[start:stop] != new[start:stop]


def test_a_session_of_another_speed_replaces_those_that_it_was_compared_with(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    for number in (1, 2, 3):
        baselines.save([make_entry(date=day(number))])
    seen = stored(tmp_path)
    baselines.save([make_entry(date=day(4), throughput=(1801.0, 1850.0, 1790.0))])
    [saved] = baselines.save([make_entry(date=day(5))], outdated=Outdated(seen, "T(2) improved by 12.0 %"))
    # the one that another process saved meanwhile was not looked at
    assert saved.note == "replaced 3 earlier sessions: T(2) improved by 12.0 %, joined 1 earlier session"
    assert dates(tmp_path) == [day(4), day(5)]
    [saved] = baselines.save([make_entry(date=day(6))], outdated=Outdated(stored(tmp_path), "E(2) regressed by 8.0 %"))
    assert saved.note == "replaced 2 earlier sessions: E(2) regressed by 8.0 %"
    assert dates(tmp_path) == [day(6)]


def test_a_changed_definition_replaces_every_earlier_session(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    for number in (1, 2):
        baselines.save([make_entry(date=day(number))])
    [saved] = baselines.save([make_entry(date=day(3), definition={"workload.batch": 64})])
    assert saved.note.startswith("replaced 2 earlier sessions; the definition changed (")
    assert dates(tmp_path) == [day(3)]


def test_sessions_of_the_same_second_are_all_kept_in_the_order_of_saving(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    for value in range(1, 14):
        baselines.save([make_entry(throughput=(float(value), 2.0, 3.0))], keep=11)
    assert [session.throughput[0] for session in stored(tmp_path)] == list(range(3, 14))
    assert dates(tmp_path) == [DATE] * 11
    assert f"      '{DATE}-13':\n" in path_of(tmp_path).read_text()


def test_a_new_session_stays_where_the_clock_is_behind(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    for number in (5, 6):
        baselines.save([make_entry(date=day(number))])
    baselines.save([make_entry(date=day(1))], keep=2)
    assert dates(tmp_path) == [day(1), day(6)]


def test_two_branches_sessions_merged_by_hand_are_read_oldest_first(tmp_path: Path) -> None:
    baselines = BaselineStore(tmp_path)
    for number in (1, 2):
        baselines.save([make_entry(date=day(number))])
    edit(path_of(tmp_path), day(1), day(3))
    assert dates(tmp_path) == [day(2), day(3)]
    baselines.save([make_entry(date=day(4))])
    text = path_of(tmp_path).read_text()
    assert text.index(day(2)) < text.index(day(3)) < text.index(day(4))


def test_the_latest_session_gives_the_entrys_environment_and_provenance(tmp_path: Path) -> None:
    BaselineStore(tmp_path).save([make_entry(date=day(1)), make_entry(4)])
    BaselineStore(tmp_path).save([make_entry(date=day(2), soft={"tensorflow": "2.22.0"})])
    found = BaselineStore(tmp_path).find(ENVIRONMENT, "mlp-ps_async", 2)
    assert found is not None
    assert found.environment.soft == {"tensorflow": "2.22.0"}
    assert found.environment.name == FOLDER
    assert found.provenance.date == day(2)


def test_derived_figures_weigh_sessions_alike_and_tell_their_scatter_from_that_of_runs(tmp_path: Path) -> None:
    for number, throughput in enumerate(((99.0, 101.0), (108.0, 110.0, 112.0), (120.0,)), 1):
        ones = (1.0,) * len(throughput)
        session = make_session(
            day(number),
            throughput=throughput,
            step_time=ones,
            reference_throughput=(50.0,) * len(throughput),
            reference_step_time=ones,
        )
        BaselineStore(tmp_path).save([make_entry(sessions=(session,))])
    derived = path_of(tmp_path).read_text().partition("    derived:\n")[2]
    assert derived == (
        "      reference_throughput: 50\n"
        "      reference_throughput_run_cv_percent: 0\n"
        "      reference_throughput_session_cv_percent: 0\n"
        "      reference_step_time: 1\n"
        # Of 100, 110 and 120 on a log scale: a session of three counts as one of one does.
        "      throughput: 109.69\n"
        # sqrt((1 x 1.414^2 + 2 x 1.818^2) / 3) within, and the deviation of 100, 110 and 120 between
        "      throughput_run_cv_percent: 1.69\n"
        "      throughput_session_cv_percent: 9.09\n"
        "      step_time: 1\n"
        "      efficiency: 1.0969\n"
        "      efficiency_run_cv_percent: 1.69\n"
        "      efficiency_session_cv_percent: 9.09\n"
    )


def test_at_least_one_session_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one session, not 0"):
        BaselineStore(tmp_path).save([make_entry()], keep=0)
    assert list(tmp_path.iterdir()) == []


CHILD = """
import sys
from pathlib import Path
from tests.unit.baseline.entries import ENVIRONMENT, make_entry
from pytest_tfperf.baseline.store import BaselineStore
store, offset = BaselineStore(Path(sys.argv[1])), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
saved = {}
for turn in range(8):
    for count, value in saved.items():
        assert store.find(ENVIRONMENT, "mlp-ps_async", count).latest.throughput[0] == value, (turn, count)
    count, value = 2 * (turn % 4) + offset, 1.0 + turn
    store.save([make_entry(count, throughput=(value, 2.0, 3.0))])
    store.save([make_entry(workload="both", throughput=(value, float(offset), 3.0))], keep=16)
    saved = {count: value}  # only the newest: the turns before it were checked, each in its time
"""


def test_two_processes_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each saves replica counts of its own, and both another's file: all in the same second, as far as dates say."""
    repository = Path(__file__).parents[3]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), str(offset)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=repository,
        )
        for offset in (1, 2)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=120)
    assert [child.returncode for child in children] == [0, 0]
    for count in range(1, 9):
        first = 1 + (count - 1) // 2  # the turn in which this count was saved first
        assert [session.throughput[0] for session in stored(tmp_path, count)] == [first, first + 4]
    found = BaselineStore(tmp_path).find(ENVIRONMENT, "both-ps_async", 2)
    assert found is not None
    both = [session.throughput[:2] for session in found.sessions]
    for offset in (1.0, 2.0):
        assert [turn for turn, own in both if own == offset] == [1.0 + turn for turn in range(8)]
    assert sorted(os.listdir(tmp_path / FOLDER)) == ["both-ps_async.yaml", "mlp-ps_async.yaml"]
