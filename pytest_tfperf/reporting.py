"""Writes a session's report to every place that was asked for; none that fails loses another, or a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_tfperf.config import Outputs
from pytest_tfperf.errors import ReportError
from pytest_tfperf.files import replace_content
from pytest_tfperf.report.document import SessionReport


@dataclass(frozen=True)
class Written:
    """What became of one output, for the terminal."""

    text: str
    failed: bool = False


def write_reports(report: SessionReport, outputs: Outputs) -> tuple[Written, ...]:
    """Write every output; a line for each."""
    found = []
    for what, where, write in _writers(report, outputs):
        try:
            write()
        except (ReportError, OSError) as error:
            found.append(Written(f"{what} was not written: {_reason(error)}", failed=True))
        else:
            found.append(Written(f"{what}: {where}"))
    return tuple(found)


def _writers(report: SessionReport, outputs: Outputs) -> Iterator[tuple[str, object, Callable[[], object]]]:
    """What, where and how; a format's module is imported only where it is asked for."""
    if outputs.json is not None:
        from pytest_tfperf.report.json_file import to_json

        path = outputs.json
        yield "JSON report", path, lambda: write_file(path, to_json(report))
    if outputs.markdown is not None:
        from pytest_tfperf.report.markdown import to_markdown

        page = outputs.markdown
        yield "Markdown report", page, lambda: write_file(page, to_markdown(report).encode())
    if outputs.html is not None:
        from pytest_tfperf.report.html import to_html

        html = outputs.html
        yield "HTML report", html, lambda: write_file(html, to_html(report).encode())
    if outputs.job_summary is not None and report.cases:
        from pytest_tfperf.report.github import append_summary

        summary = outputs.job_summary
        yield "job summary", summary, lambda: append_summary(report, summary)
    if outputs.tensorboard is not None:
        from pytest_tfperf.report.tensorboard import write_events

        events = outputs.tensorboard
        yield "TensorBoard events", events, lambda: write_events(report, events)
    if outputs.history:
        from pytest_tfperf.history import append, shown_url

        yield "history", shown_url(outputs.history), lambda: append(report, outputs.history)


def write_file(path: Path, data: bytes) -> None:
    """Replace a file's content in one step: a reader sees the old one or the new one, never half of it.

    A pipe or a device, such as /dev/stdout, is written to as it is. Raises OSError.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()  # beside what a link leads to, not in the link's place
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_content(target, data, alone=False)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".lstrip(": ")
    return str(error)
