"""The few git commands that a second checkout needs."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from pytest_tfperf.against.ending import end_group, signal_group
from pytest_tfperf.errors import UsageError
from pytest_tfperf.interrupts import uninterrupted
from pytest_tfperf.records.against import Revision

# A git hook that runs the tests sets these for its own repository. Not all of GIT_*: its settings are to be kept.
_OF_A_REPOSITORY = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
)


_GRACE = 5.0
"""Seconds that git may take to clear up."""


class GitError(Exception):
    """A git command failed; the text is what git said."""


def git(cwd: Path, *arguments: str) -> str:
    """Output of a git command, without the end of its last line. Raises GitError."""
    try:
        process = subprocess.Popen(
            # A worktree is no checkout of the user's, so no hook of theirs is to run for it.
            ["git", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", *arguments],
            cwd=cwd,
            env=outside_of_hooks(os.environ.copy()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # so that it can be ended with the filters that it runs
        )
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from error
    with process:
        try:
            output, said = process.communicate()
        except BaseException:
            _end(process)
            raise
    if process.returncode != 0:
        raise GitError(said.strip() or f"git {arguments[0]} ended with exit code {process.returncode}")
    return output.rstrip("\n")


def _end(process: subprocess.Popen[str]) -> None:
    """End git, which clears up behind itself where it is asked to end, and all that it has started."""
    with uninterrupted():
        signal_group(process, signal.SIGTERM)
        end_group(process, _GRACE)


def outside_of_hooks(environ: dict[str, str]) -> dict[str, str]:
    """The environment without what ties git to one repository."""
    return {name: value for name, value in environ.items() if name not in _OF_A_REPOSITORY}


def top_of_checkout(folder: Path) -> Path:
    """The top folder of the git checkout that a folder is in.

    Raises:
        UsageError: it is in none.
    """
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel")).resolve()
    except GitError as error:
        raise UsageError(
            f"--tfperf-against compares commits, so pytest's rootdir must be in a git repository; {folder}: {error}"
        ) from None


def find_revision(top: Path, name: str) -> Revision:
    """Look up a branch, tag or commit.

    Raises:
        UsageError: there is no such commit here.
    """
    try:
        if name.startswith("-"):  # git would take it for an option
            raise GitError(f"{name!r} cannot name a commit")
        return Revision(name, git(top, "rev-parse", "--verify", f"{name}^{{commit}}"))
    except GitError as error:
        hint = "git branch -a and git tag list what there is"
        if _is_shallow(top):
            hint = "this is a shallow clone, which lacks older commits: git fetch --unshallow, or fetch that one"
        raise UsageError(f"--tfperf-against {name}: no such commit in {top} ({error}); {hint}") from None


def _is_shallow(top: Path) -> bool:
    try:
        return git(top, "rev-parse", "--is-shallow-repository") == "true"
    except GitError:
        return False
