"""How the other side's pytest is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tfperf.against.worktree import Worktree
from pytest_tfperf.cluster.interpreter import flags
from pytest_tfperf.config import PerfConfig

# As `python -m pytest`, but without the working directory on sys.path: PYTHONPATH says where imports come from.
_BOOT = "import sys; sys.path[:] = filter(None, sys.path); import pytest; sys.exit(pytest.console_main())"


@dataclass(frozen=True)
class Invocation:
    """What of this side's command line the other side must share."""

    cwd: Path
    """Where pytest was called."""
    files: tuple[Path, ...]
    """The files of the selected tests."""
    arguments: tuple[str, ...] = ()
    """Options to repeat as they are: plugins, ini values, the project's own."""
    config_file: Path | None = None
    """The ini file, where it was named on the command line."""
    confcutdir: Path | None = None


def files_there(worktree: Worktree, files: Sequence[Path]) -> list[Path]:
    """The counterparts of test files that exist at the revision."""
    there = (worktree.counterpart(file) for file in files)
    return [file for file in dict.fromkeys(there) if file is not None and file.is_file()]


def working_directory(worktree: Worktree, invocation: Invocation) -> Path:
    """The counterpart of the folder in which pytest was called; the worktree's top where there is none."""
    folder = worktree.counterpart(invocation.cwd)
    return folder if folder is not None and folder.is_dir() else worktree.top


def command(worktree: Worktree, invocation: Invocation, config: PerfConfig, python: str, line: int) -> list[str]:
    """The whole command. Raises ValueError where pytest's rootdir is not in the checkout.

    Nothing that the revision's own settings deselect is left out, since only the tests asked for are measured. How long
    a run measures is this side's setting on both sides.
    """
    root = worktree.counterpart(config.root)
    if root is None:
        raise ValueError(f"{config.root} is not in {worktree.checkout}")
    options = [f"--rootdir={root}", *invocation.arguments]
    for name, path in (("--config-file", invocation.config_file), ("--confcutdir", invocation.confcutdir)):
        if path is not None:
            # An ini file of this checkout would bring this checkout's code with it.
            there = worktree.counterpart(path)
            options += [f"{name}={there or path}"] if there is None or there.exists() else []
    options += ["-k", "", "-m", "", f"--tfperf-serve={line}"]
    # A run that was disturbed is made again, as often as there are rounds.
    options += ["-o", f"tfperf_rounds={config.rounds}"]
    options += [f"--tfperf-rounds={config.forced_rounds}"] if config.forced_rounds else []
    options += [f"--tfperf-window={config.measurement.window_seconds}", f"--tfperf-timeout={config.timeout}"]
    if not config.compile_cache:  # as an ini value: a revision that does not know it has no such cache, and only warns
        options += ["-o", "tfperf_compile_cache=false"]
    options += [f"--tfperf-launcher={config.launcher}", *(["--tfperf-keep-logs"] if config.keep_logs else [])]
    return [python, *flags(), "-c", _BOOT, *options, *map(str, files_there(worktree, invocation.files))]
