"""Reads the command line, runs a subcommand, and makes of every error one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_tfperf.command.codes import EPILOG, INTERRUPTED, PIPE_CLOSED, UNREADABLE, USAGE
from pytest_tfperf.errors import ReportError, TfPerfError, UsageError
from pytest_tfperf.version import __version__

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_SUBCOMMANDS = ("show", "compare", "report", "history", "env", "prune")
"""Modules of this package; each has `add`, which registers its parser, and imports what is heavy where it is used."""
_EXTRAS = {"history": "history"}
"""By subcommand, the extra that brings what it imports."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `tfperf`; `argv` is the command line without the program's name, None: this process's. Gives an exit code."""
    # Without them (`>&-`) there is nobody to tell, and print() would write errors to the other one.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a task has printed may be any text
    try:
        code = _run(argv)
        sys.stdout.flush()  # or a closed pipe would only show at the interpreter's end
        return code
    except SystemExit as end:  # argparse, after it has written its help, or its error
        return end.code if isinstance(end.code, int) else USAGE
    except UsageError as error:
        return _failed(error, USAGE)
    except TfPerfError as error:
        return _failed(error, UNREADABLE)
    except OSError as error:
        if error.filename is not None:  # of an argument, such as one in a folder that may not be entered
            return _failed(ReportError(f"{error.filename}: cannot be read: {error.strerror}"), UNREADABLE)
        # Writing to stdout; all else is one of ours by now.
        # What is still in the buffer would fail again as the interpreter ends, with a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return PIPE_CLOSED
        return _failed(ReportError(f"the output cannot be written: {error.strerror or error}"), UNREADABLE)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    given, unknown = parser.parse_known_args(argv)
    if unknown and not getattr(given, "missing", False):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    code: int = given.run(given)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfperf",
        description="Look at what pytest-tfperf has stored and reported: baselines, reports, history and this machine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pytest-tfperf {__version__}")
    subparsers = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", required=True)
    for name in _SUBCOMMANDS:
        try:
            importlib.import_module(f"{__package__}.{name}").add(subparsers)
        except ImportError as error:
            _add_missing(subparsers, name, error)
    return parser


def _add_missing(subparsers: Subparsers, name: str, error: ImportError) -> None:
    """A subcommand whose extra is not installed is still known, and says how to get it."""
    if name not in _EXTRAS:
        raise error
    reason = f"tfperf {name} cannot be loaded ({error}): pip install 'pytest-tfperf[{_EXTRAS[name]}]'"

    def run(given: argparse.Namespace) -> int:
        raise UsageError(reason)

    parser = subparsers.add_parser(name, help=f"needs pip install 'pytest-tfperf[{_EXTRAS[name]}]'", add_help=False)
    parser.add_argument("rest", nargs="*")
    parser.set_defaults(run=run, missing=True)


def _failed(error: TfPerfError, code: int) -> int:
    try:
        sys.stdout.flush()
    finally:
        print(f"tfperf: error: {error}", file=sys.stderr)
    return code
