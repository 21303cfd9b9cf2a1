"""What of this pytest's command line the other side of --tfperf-against needs to collect the same tests alike."""

from __future__ import annotations

import argparse
import copy
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_tfperf.against.command import Invocation
from pytest_tfperf.against.git import find_revision, top_of_checkout
from pytest_tfperf.errors import OtherSideError, UsageError
from pytest_tfperf.fixtures import ARM, SESSION

_PROJECT = pytest.StashKey[list[str]]()
"""Options on the command line that no installed plugin knows: those of the project's conftest."""


def note_project_options(early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]) -> None:
    """Remember them before the conftests are loaded, after which nobody can tell them from others."""
    namespace = copy.copy(early_config.known_args_namespace)
    early_config.stash[_PROJECT] = parser.parse_known_and_unknown_args(list(args), namespace)[1]


def check_revision(config: pytest.Config) -> None:
    """Raises pytest.UsageError where there is no such revision: nobody waits for his turn to be told that."""
    perf = config.stash[SESSION].config
    try:
        find_revision(top_of_checkout(perf.root), perf.against)
    except (UsageError, OtherSideError) as error:
        raise pytest.UsageError(str(error)) from None


def oppose(session: pytest.Session) -> None:
    """Start the other side for the selected tests. Raises pytest.UsageError where there cannot be one."""
    config = session.config
    files = dict.fromkeys(item.path for item in session.items if ARM in item.stash)
    try:
        config.stash[SESSION].oppose(_invocation(config, tuple(files)))
    except (UsageError, OtherSideError) as error:
        raise pytest.UsageError(str(error)) from None
    except OSError as error:
        raise pytest.UsageError(f"--tfperf-against: the other side cannot be started: {error}") from None


def _invocation(config: pytest.Config, files: tuple[Path, ...]) -> Invocation:
    given = [os.fspath(arg) for arg in config.invocation_params.args]
    given = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *given]
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flags in (("-p",), ("-o", "--override-ini"), ("-W", "--pythonwarnings")):
        parser.add_argument(*flags, action="append", default=[], dest=flags[0].strip("-"))
    parser.add_argument("-c", "--config-file", dest="config_file")
    parser.add_argument("--confcutdir")
    parser.add_argument("--import-mode")
    parser.add_argument("--noconftest", action="store_true")
    known, _ = parser.parse_known_args(given)
    arguments = [part for flag in "poW" for value in getattr(known, flag) for part in (f"-{flag}", value)]
    arguments += [f"--import-mode={known.import_mode}"] if known.import_mode else []
    arguments += ["--noconftest"] if known.noconftest else []
    folder = config.invocation_params.dir
    return Invocation(
        cwd=folder,
        files=files,
        arguments=(*arguments, *_project_options(config, given)),
        config_file=folder / known.config_file if known.config_file else None,
        confcutdir=folder / known.confcutdir if known.confcutdir else None,
    )


def _project_options(config: pytest.Config, given: Sequence[str]) -> list[str]:
    """The project's own options with their values: a test may measure something else under another one."""
    options: list[str] = []
    for text in config.stash.get(_PROJECT, []):
        name, has_value, _ = text.partition("=")
        if text not in given or not name.startswith("-"):  # not from the command line but from the ini file
            continue
        value = None if has_value else config.getoption(name, None)
        values = value if isinstance(value, list) else [value]
        for one in values:
            with_value = f"{name}={one}" if name.startswith("--") else f"{name}{one}"
            options.append(text if one is None or isinstance(one, bool) else with_value)
    return options
