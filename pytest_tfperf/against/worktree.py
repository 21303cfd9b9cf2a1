"""A checkout of another commit in a private temporary folder, made by `git worktree` and removed with the session.

Nothing in the user's checkout, index, branches or stash is touched. Git keeps a list of worktrees: ours is taken off it
again. A session that was killed leaves its worktree behind; the next one that makes one removes it. It knows by a lock
that its owner held and that the kernel took back, whatever became of the owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from pytest_tfperf.against.git import GitError, git
from pytest_tfperf.errors import UsageError
from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.records.against import Revision

_PREFIX = "pytest-tfperf-against-"
_LOCK = "lock"


class Worktree:
    """One checked-out commit, from `Worktree.add` to `remove`."""

    def __init__(self, top: Path, folder: Path, lock: int, revision: Revision) -> None:
        self.checkout = top
        """Top folder of the user's checkout."""
        self.folder = folder
        """Private folder of the session; the worktree is in it, and there is room for a log."""
        self.top = folder / f"tree-{revision.commit[:7]}"
        """Top folder of the worktree."""
        self._lock = lock

    @classmethod
    def add(cls, top: Path, revision: Revision) -> Worktree:
        """Check the commit out.

        Raises:
            UsageError: git cannot; the message is its own. Or there is no place for it.
        """
        _remove_abandoned(top)
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
            try:
                lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            except OSError:
                folder.rmdir()
                raise
        except OSError as error:
            raise UsageError(
                f"--tfperf-against {revision.name}: no folder for a worktree can be made: {error}. Set TMPDIR to a "
                "folder that can be written."
            ) from error
        worktree = cls(top, folder, lock, revision)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            git(top, "worktree", "add", "--detach", "--quiet", str(worktree.top), revision.commit)
        except GitError as error:
            worktree.remove()
            raise UsageError(f"--tfperf-against {revision.name}: git worktree add failed: {error}") from None
        except BaseException:
            worktree.remove()
            raise
        return worktree

    def counterpart(self, path: Path) -> Path | None:
        """Where a file or folder of the checkout would be in the worktree; None for one outside of the checkout."""
        for one, top in ((path, self.checkout), (path.resolve(), self.checkout.resolve())):
            if one.is_relative_to(top):
                return self.top / one.relative_to(top)
        return None

    def remove(self) -> None:
        """Remove the worktree, its entry in git's list, and the private folder. Safe to call again."""
        if self._lock < 0:
            return
        with uninterrupted():
            _remove(self.checkout, self.top)
            os.close(self._lock)
            self._lock = -1


def _remove(top: Path, tree: Path) -> None:
    for _ in range(2):  # a second time for what git refuses while the folder is there
        with contextlib.suppress(GitError):
            # Twice: it is locked where git was killed as it checked the files out.
            git(top, "worktree", "remove", "--force", "--force", str(tree))
        shutil.rmtree(tree.parent, ignore_errors=True)
        if tree not in _trees(top):
            return


def _remove_abandoned(top: Path) -> None:
    """Remove what sessions left that did not live to do so themselves."""
    for tree in _trees(top):
        if tree.parent.name.startswith(_PREFIX) and _is_abandoned(tree.parent):
            _remove(top, tree)


def _trees(top: Path) -> list[Path]:
    """Every worktree that git knows of."""
    try:
        lines = git(top, "worktree", "list", "--porcelain").splitlines()
    except GitError:
        return []
    return [Path(line.partition(" ")[2]) for line in lines if line.startswith("worktree ")]


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody holds the folder's lock any more, or the folder itself is gone."""
    try:
        # Once it is gone, anybody can have made another of its name among the temporary files.
        if folder.lstat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:  # another user's, and not ours to remove
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
