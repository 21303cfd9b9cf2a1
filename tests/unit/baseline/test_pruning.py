"""What is taken out of baseline files, and that what people wrote there stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.baseline import pruning
from pytest_tfperf.baseline.pruning import SessionRule, drop_runs, drop_sessions, has_limits
from pytest_tfperf.baseline.reading import HEADER, Reader
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.errors import BaselineError
from tests.unit.baseline.entries import annotate, make_entry, make_session, path_of

DAYS = [f"2026-11-{day:02}T01:00:00Z" for day in (1, 5, 9, 20)]


def file_of(root: Path) -> Path:
    """Four sessions of 2 replicas, and of 4 the two newest."""
    sessions = tuple(make_session(day, throughput=(1800.0 + i, 1850.0, 1790.25)) for i, day in enumerate(DAYS))
    BaselineStore(root).save([make_entry(sessions=sessions), make_entry(4, sessions=sessions[2:])], keep=9)
    return path_of(root)


def days(path: Path, count: int) -> list[str]:
    return [session.provenance.date for session in Reader().anywhere(path).entries[count].sessions]


@pytest.mark.parametrize(
    ("rule", "two", "four"),
    [
        (SessionRule(), [0, 1, 2, 3], [2, 3]),
        (SessionRule(keep=2), [2, 3], [2, 3]),
        (SessionRule(keep=1), [3], [3]),
        (SessionRule(before="2026-11-05T01:00:00Z"), [1, 2, 3], [2, 3]),
        (SessionRule(before="2026-11-10T00:00:00Z"), [3], [3]),
        (SessionRule(before="2027-01-01T00:00:00Z"), [3], [3]),
        (SessionRule(keep=3, before="2026-11-09T00:00:00Z"), [2, 3], [2, 3]),
    ],
)
def test_the_newest_always_stays(tmp_path: Path, rule: SessionRule, two: list[int], four: list[int]) -> None:
    path = file_of(tmp_path)
    going = drop_sessions(tmp_path, path, rule)
    assert days(path, 2) == [DAYS[number] for number in two]
    assert days(path, 4) == [DAYS[number] for number in four]
    assert sum(going.values()) == 6 - len(two) - len(four)


def test_nothing_to_drop_leaves_the_file_untouched(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    before = path.stat()
    assert not drop_sessions(tmp_path, path, SessionRule(keep=9))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_file_is_as_if_only_the_others_had_been_saved(tmp_path: Path) -> None:
    # What is derived from the sessions is derived anew.
    path = file_of(tmp_path)
    drop_sessions(tmp_path, path, SessionRule(keep=1))
    alone = make_session(DAYS[3], throughput=(1803.0, 1850.0, 1790.25))
    other = tmp_path / "other"
    BaselineStore(other).save([make_entry(sessions=(alone,)), make_entry(4, sessions=(alone,))])
    assert path.read_text() == path_of(other).read_text()


def test_comments_and_limits_stay(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    text = path.read_text().replace("efficiency_floor: null", "efficiency_floor: 0.80  # ours", 1)
    path.write_text(
        "# Why we have this.\n" + text.replace("          throughput:", "          # odd\n          throughput:", 1)
    )
    drop_sessions(tmp_path, path, SessionRule(keep=1))
    after = path.read_text()
    for comment in ("# Why we have this.", "# ours", "# odd"):
        assert comment in after
    assert Reader().anywhere(path).limits[2].floor == 0.8


def test_an_older_version_becomes_the_current_one(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    path.write_text(path.read_text().replace("schema_version: 6", "schema_version: 2"))
    drop_sessions(tmp_path, path, SessionRule(keep=1))
    assert "schema_version: 6" in path.read_text()
    assert days(path, 2) == DAYS[3:]


def test_a_file_without_limits_goes_and_so_does_its_empty_folder(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    assert drop_runs(tmp_path, path) == "removed"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_more_stays(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    BaselineStore(tmp_path).save([make_entry(variant="small")])
    drop_runs(tmp_path, path)
    assert [each.name for each in path.parent.iterdir()] == ["mlp-ps_async-small.yaml"]


def test_limits_outlive_the_measurements(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    annotate_two_and_four(path)
    assert drop_runs(tmp_path, path) == "limits stay"
    file = Reader().anywhere(path)
    assert not file.entries
    assert has_limits(file)
    assert (file.limits[2].floor, file.limits[4].tolerance) == (0.8, 0.05)
    assert "# two replicas" in path.read_text()
    assert drop_runs(tmp_path, path) == "nothing to remove"


def annotate_two_and_four(path: Path) -> None:
    path.unlink()
    BaselineStore(path.parent.parent).save([make_entry(), make_entry(4)])
    annotate(path, HEADER)


def test_what_is_gone_already(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    path.unlink()
    assert drop_runs(tmp_path, path) == "nothing to remove"
    assert not drop_sessions(tmp_path, path, SessionRule(keep=1))


def test_a_broken_file_is_as_it_was(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    path.write_text("schema_version: [")
    for act in (lambda: drop_runs(tmp_path, path), lambda: drop_sessions(tmp_path, path, SessionRule(keep=1))):
        with pytest.raises(BaselineError, match=path.name):
            act()
    assert path.read_text() == "schema_version: ["


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    outside = file_of(tmp_path / "outside")
    link = path_of(tmp_path / "root")
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(BaselineError, match="leads out of"):
        drop_runs(tmp_path / "root", link)
    assert outside.exists()


def test_killed_before_the_end_the_old_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pruning, "replace_content", full)
    with pytest.raises(BaselineError, match=r"No space left on device\. The file is as it was"):
        drop_sessions(tmp_path, path, SessionRule(keep=1))
    assert path.read_bytes() == before


def test_a_session_that_is_saved_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    new = [make_session(f"2026-12-{day:02}T01:00:00Z", throughput=(1.0 + day, 2.0, 3.0)) for day in range(1, 9)]

    def save(session: object) -> None:
        BaselineStore(tmp_path).save([replace(make_entry(), sessions=(session,))], keep=99)  # type: ignore[arg-type]

    def drop(_: object) -> None:
        drop_sessions(tmp_path, path, SessionRule(before=DAYS[3]))

    with ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(act, session) for session in new for act in (save, drop)]
        for job in jobs:
            job.result()
    assert days(path, 2) == [DAYS[3], *(session.provenance.date for session in new)]
