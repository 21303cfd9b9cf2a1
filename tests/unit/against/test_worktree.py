"""A second checkout comes and goes without a trace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tfperf.against.git import find_revision, top_of_checkout
from pytest_tfperf.against.worktree import Worktree
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.against import Revision
from tests.unit.against.repository import commit, git, new_repository, state, worktrees


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def repository(tmp_path: Path, temporary: Path) -> Iterator[Path]:
    """Two commits, and work that is not committed."""
    top = new_repository(tmp_path / "repo", {"a.txt": "first", "perf/test_a.py": ""})
    commit(top, {"a.txt": "second"})
    (top / "a.txt").write_text("third, not committed")
    (top / "untracked.txt").write_text("")
    yield top
    assert worktrees(top) == 1
    assert list(temporary.iterdir()) == []


def test_the_commit_is_checked_out_and_nothing_of_the_user_is_touched(repository: Path, temporary: Path) -> None:
    before = state(repository)
    worktree = Worktree.add(repository, find_revision(repository, "HEAD~1"))
    assert (worktree.top / "a.txt").read_text() == "first"
    assert not (worktree.top / "untracked.txt").exists()
    assert worktree.folder.stat().st_mode & 0o777 == 0o700
    assert worktree.counterpart(repository / "perf" / "test_a.py") == worktree.top / "perf" / "test_a.py"
    assert worktree.counterpart(temporary) is None
    worktree.remove()
    worktree.remove()
    assert state(repository) == before
    assert (repository / "a.txt").read_text() == "third, not committed"


def test_what_was_written_into_it_goes_with_it(repository: Path) -> None:
    worktree = Worktree.add(repository, find_revision(repository, "HEAD"))
    (worktree.top / "new").mkdir()
    (worktree.top / "new" / "cache.bin").write_text("x")
    (worktree.top / "a.txt").write_text("changed")
    worktree.remove()


def test_no_hook_of_the_user_runs(repository: Path, tmp_path: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    Worktree.add(repository, find_revision(repository, "HEAD")).remove()
    assert not (tmp_path / "ran").exists()


def test_within_a_git_hook_it_is_the_tests_repository_that_counts(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repository(tmp_path / "other", {"b.txt": ""})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert top_of_checkout(repository / "perf") == repository
    worktree = Worktree.add(repository, find_revision(repository, "HEAD"))
    assert (worktree.top / "a.txt").exists()
    worktree.remove()


def test_what_a_killed_session_left_is_removed_by_the_next(repository: Path) -> None:
    killed = Worktree.add(repository, find_revision(repository, "HEAD"))
    os.close(killed._lock)  # as the kernel does for a process that is gone
    alive = Worktree.add(repository, find_revision(repository, "HEAD"))
    assert not killed.folder.exists()
    third = Worktree.add(repository, find_revision(repository, "HEAD~1"))
    assert alive.top.exists()
    assert worktrees(repository) == 3
    third.remove()
    alive.remove()


def test_one_whose_folder_is_gone_is_taken_off_gits_list(repository: Path, temporary: Path) -> None:
    lost = Worktree.add(repository, find_revision(repository, "HEAD"))
    os.close(lost._lock)
    lost.folder.rename(temporary.parent / "moved")
    Worktree.add(repository, find_revision(repository, "HEAD")).remove()
    assert worktrees(repository) == 1


def test_one_that_is_another_users_now_is_not_touched(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Worktree.add(repository, find_revision(repository, "HEAD"))
    os.close(left._lock)
    (left.folder / "lock").unlink()
    with monkeypatch.context() as patch:
        user = os.getuid()
        patch.setattr(os, "getuid", lambda: user + 1)
        Worktree.add(repository, find_revision(repository, "HEAD")).remove()
    assert left.top.exists()
    Worktree.add(repository, find_revision(repository, "HEAD")).remove()
    assert not left.folder.exists()


def test_a_worktree_of_the_user_stays(repository: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    git(repository, "worktree", "add", "--quiet", "--detach", str(theirs))
    Worktree.add(repository, find_revision(repository, "HEAD")).remove()
    assert (theirs / "a.txt").exists()
    git(repository, "worktree", "remove", str(theirs))


def test_submodules_are_left_alone(repository: Path, tmp_path: Path) -> None:
    library = new_repository(tmp_path / "library", {"lib.txt": ""})
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "library")
    git(repository, "commit", "--quiet", "--message=library")
    worktree = Worktree.add(repository, find_revision(repository, "HEAD"))
    assert list((worktree.top / "library").iterdir()) == []
    worktree.remove()


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rootdir must be in a git repository"):
        top_of_checkout(tmp_path)


@pytest.mark.parametrize("name", ["no-such-branch", "-q", "HEAD:a.txt"])
def test_an_unknown_revision(repository: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"--tfperf-against {name}: no such commit in .*git branch -a"):
        find_revision(repository, name)


def test_a_shallow_clone_says_that_it_is_one(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), str(clone))
    with pytest.raises(UsageError, match="shallow clone, which lacks older commits: git fetch --unshallow"):
        find_revision(clone, "HEAD~1")
    worktree = Worktree.add(clone, find_revision(clone, "HEAD"))
    assert (worktree.top / "a.txt").read_text() == "second"
    worktree.remove()


def test_how_a_revision_is_called() -> None:
    assert str(Revision("main", "abc1234" + 33 * "0")) == "main (abc1234)"
    assert str(Revision("abc12", "abc1234" + 33 * "0")) == "abc1234"
