"""Writes a session's report to every place that was asked for; none that fails loses another, or a verdict."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tfperf.config import Outputs
from pytest_tfperf.errors import ReportError
from pytest_tfperf.files import followed, replace_content
from pytest_tfperf.report.document import SessionReport


@dataclass(frozen=True)
class Written:
    """What became of one output, for the terminal."""

    text: str
    failed: bool = False
    interrupted: bool = False


def write_reports(report: SessionReport, outputs: Outputs) -> tuple[Written, ...]:
    """Write every output that was asked for; a line for each."""
    wanted = ((what, write, getattr(outputs, name)) for name, what, write in _WRITERS)
    return tuple(_written(report, what, write, where) for what, write, where in wanted if where)


def _written(
    report: SessionReport, what: str, write: Callable[[SessionReport, Any], str | None], where: object
) -> Written:
    try:
        shown = write(report, where)
    except (ReportError, OSError) as error:
        return Written(f"{what} was not written: {_reason(error, where)}", failed=True)
    except KeyboardInterrupt:  # the others take no time, and the session is at its end anyway
        return Written(f"{what} was interrupted, and may not have been written", failed=True, interrupted=True)
    except Exception as error:  # whatever a writer or its library trips over: the verdicts are told all the same
        return Written(f"{what} was not written: {type(error).__name__}: {error} ({_origin(error)})", failed=True)
    return Written(f"{what}: {where if shown is None else shown}")


# Each format's module is imported only where it is asked for.


def _json(report: SessionReport, path: Path) -> None:
    from pytest_tfperf.report.json_file import to_json

    write_file(path, to_json(report))


def _markdown(report: SessionReport, path: Path) -> None:
    from pytest_tfperf.report.markdown import to_markdown

    write_file(path, to_markdown(report).encode())


def _html(report: SessionReport, path: Path) -> None:
    from pytest_tfperf.report.html import to_html

    write_file(path, to_html(report).encode())


def _job_summary(report: SessionReport, path: Path) -> None:
    from pytest_tfperf.report.github import append_summary

    append_summary(report, followed(path))


def _tensorboard(report: SessionReport, folder: Path) -> None:
    from pytest_tfperf.report.tensorboard import write_events

    write_events(report, followed(folder))


def _history(report: SessionReport, url: str) -> str:
    from pytest_tfperf.history import append, check_url, shown_url

    if (file := check_url(url)) is not None:
        followed(file)
    append(report, url)
    return shown_url(url)


_WRITERS: tuple[tuple[str, str, Callable[[SessionReport, Any], str | None]], ...] = (
    ("json", "JSON report", _json),
    ("markdown", "Markdown report", _markdown),
    ("html", "HTML report", _html),
    ("job_summary", "job summary", _job_summary),
    ("tensorboard", "TensorBoard events", _tensorboard),
    ("history", "history", _history),
)
"""By field of `Outputs`: what it is, and what writes it and may say where in other words."""


def write_file(path: Path, data: bytes) -> None:
    """Replace a file's content in one step: a reader sees the old one or the new one, never half of it.

    A pipe or a device, such as /dev/stdout, is written to as it is. Raises OSError.
    """
    target = followed(path)  # beside what a link leads to, not in the link's place
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_content(target, data, alone=False)


def _origin(error: Exception) -> str:
    """Where it was raised, for whoever reports it to us."""
    *_, frame = traceback.extract_tb(error.__traceback__)
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _reason(error: Exception, where: object) -> str:
    if isinstance(error, OSError):
        place = error.filename or (where if isinstance(where, Path) else "")  # a URL may hold a password
        return f"{place}: {error.strerror or error}".lstrip(": ")
    return str(error)
