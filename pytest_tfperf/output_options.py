"""The options that say where a session's report goes."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_tfperf.config import Outputs
from pytest_tfperf.errors import UsageError
from pytest_tfperf.files import followed, is_database
from pytest_tfperf.history import check_url, full_url
from pytest_tfperf.report.targets import check_apart

_NEEDS = {
    "history": ("sqlalchemy", "history"),
    "tensorboard": ("tensorboard", "tensorboard"),
}
"""By option: the module that it needs, and the extra that brings it."""


def add_output_options(group: pytest.OptionGroup, parser: pytest.Parser) -> None:
    """Declare them; paths are relative to the folder in which pytest was started."""
    for name, what in (
        ("json", "everything that was measured and decided, raw runs included"),
        ("markdown", "the verdicts as Markdown"),
        ("html", "the report as one page that opens offline"),
    ):
        group.addoption(f"--tfperf-{name}", metavar="FILE", help=f"write {what}")
    group.addoption("--tfperf-tensorboard", metavar="DIR", help="write scalars and hyperparameters for TensorBoard")
    group.addoption(
        "--tfperf-history",
        metavar="URL",
        help="append the session to this database: an SQLite file's path, or a URL as SQLAlchemy has it",
    )
    parser.addini("tfperf_history", "database that every session is appended to", default="")


def outputs(config: pytest.Config) -> Outputs:
    """Where the report goes.

    Raises:
        UsageError: a report could not be written at the end of the session, so it had better not begin.
    """
    if config.getoption("tfperf_serve") is not None or hasattr(config, "workerinput"):
        return Outputs()
    given: dict[str, Path | None] = {}
    for name in ("json", "markdown", "html", "tensorboard"):
        path = config.getoption(f"tfperf_{name}")
        given[name] = None if path is None else Path(os.path.join(config.invocation_params.dir, path))
    line = config.getoption("tfperf_history")
    history = config.getini("tfperf_history") if line is None else line  # an empty one on the line switches it off
    for option, (module, extra) in _NEEDS.items():
        if (history if option == "history" else given[option]) and find_spec(module) is None:
            extra = "postgres" if option == "history" and history.startswith("postgres") else extra
            raise UsageError(
                f"--tfperf-{option} needs the Python package {module}: pip install 'pytest-tfperf[{extra}]'"
            )
    for name in ("json", "markdown", "html"):
        if (path := given[name]) is not None:
            _check_file(f"--tfperf-{name}", path)
    if (folder := given["tensorboard"]) is not None:
        _check_not_planted("--tfperf-tensorboard", folder)
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"--tfperf-tensorboard {folder}: this is a file, the option takes a folder")
    url = full_url(history, config.rootpath if line is None else config.invocation_params.dir)
    file = check_url(url) if url else None
    if file is not None:
        _check_file("--tfperf-history", file)
    check_apart({**{f"--tfperf-{name}": path for name, path in given.items()}, "--tfperf-history": file})
    on_actions = os.environ.get("GITHUB_ACTIONS") == "true"
    summary = os.environ.get("GITHUB_STEP_SUMMARY", "") if on_actions else ""
    return Outputs(
        **given,
        history=url,
        job_summary=Path(summary) if summary else None,
        annotate=on_actions,
    )


def _check_file(option: str, path: Path) -> None:
    """Raise UsageError where a file cannot be written; its folder is made if there is none, as --junitxml does."""
    _check_not_planted(option, path)
    if path.is_dir():
        raise UsageError(f"{option} {path}: this is a folder, the option takes a file")
    if option != "--tfperf-history" and is_database(path):
        raise UsageError(f"{option} {path}: this is a database, which a report would replace; name another file")
    if option == "--tfperf-history" and path.is_file() and path.stat().st_size and not is_database(path):
        raise UsageError(f"{option} {path}: this is no SQLite database; name another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {path}: its folder cannot be made: {error.strerror}") from None
    target = path if path.exists() else path.parent
    if not os.access(target, os.W_OK):
        raise UsageError(f"{option} {path}: {target} cannot be written")


def _check_not_planted(option: str, path: Path) -> None:
    """Raise UsageError for what writing would refuse at the end of the session: another user's link or file."""
    try:
        followed(path)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.filename or path}: {error.strerror or error}") from None
