"""Small git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user with no settings of their own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "A Tester", f"GIT_{role}_EMAIL": "tester@example.org"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def new_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with these files in its first commit, on the branch main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, files)
    return folder.resolve()


def commit(folder: Path, files: Mapping[str, str | None]) -> str:
    """Write the files, remove those that are None, commit all, and give the commit's name."""
    for name, text in files.items():
        path = folder / name
        if text is None:
            git(folder, "rm", "--quiet", name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=change")
    return git(folder, "rev-parse", "HEAD")


def state(folder: Path) -> tuple[str, ...]:
    """Everything of a checkout that belongs to its user."""
    index = (folder / ".git" / "index").read_bytes().hex()
    said = (git(folder, *words.split()) for words in ("status --porcelain", "stash list", "branch -a", "reflog"))
    return (index, *said)


def worktrees(folder: Path) -> int:
    """How many worktrees git knows of, the checkout itself included."""
    return git(folder, "worktree", "list", "--porcelain").count("worktree ")
