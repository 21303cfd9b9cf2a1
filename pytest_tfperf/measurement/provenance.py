"""Which commit was measured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

GIT_SECONDS = 10.0


def git_provenance(cwd: Path, baselines: Path | None = None) -> tuple[str, bool]:
    """Commit that is checked out at `cwd`, and whether tracked files differ from it; ("", False) outside a repository.

    Untracked files do not count: test runs themselves leave caches and reports. Changes in the baseline folder do not
    count either, or a second ``--tfperf-save`` would call itself dirty for what the first one wrote. A state that git
    does not tell in time counts as dirty.

    Args:
        cwd: Folder in the measured checkout.
        baselines: The baseline folder; ``cwd/baselines`` if not given.

    """
    answer = _git(cwd, "rev-parse", "--show-toplevel", "--verify", "HEAD")
    if answer is None:
        return "", False
    top, _, commit = answer.rstrip("\n").rpartition("\n")
    scope = [":/"]
    try:
        folder = (baselines or cwd / "baselines").resolve().relative_to(Path(top).resolve())
        if folder.parts:
            scope.append(f":(top,exclude,literal){folder.as_posix()}")
    except ValueError:
        pass  # outside the repository, where git has nothing to leave out
    status = _git(cwd, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=untracked", "--", *scope)
    return commit, status is None or bool(status)


def _git(cwd: Path, *arguments: str) -> str | None:
    """Output of a git command; None where it failed, hung or does not exist."""
    # A git hook that runs the tests sets GIT_DIR and GIT_INDEX_FILE for its own repository.
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"  # never get in the way of a git that works in the same checkout
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *arguments],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
