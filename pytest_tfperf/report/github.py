"""What GitHub Actions shows of a session: the job's summary, and an annotation at each test that failed.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands has the commands and their limits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from pytest_tfperf.errors import ReportError
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.document import Case, SessionReport
from pytest_tfperf.report.markdown import case_text, to_markdown
from pytest_tfperf.report.markup import printable, shortened
from pytest_tfperf.report.ranking import is_open, status, worst_first
from pytest_tfperf.units import format_bytes, plural

_MOST_BYTES = 1_000_000
"""Of a step's summary. GitHub says 1 MiB; it drops without a word what is just under that, and puts *** for secrets."""
_FEWEST_BYTES = 4_000
"""Less says nothing."""
_MOST_ANNOTATIONS = 10
"""Of a kind that a step can show; the runner only logs the rest."""
_MOST_CHARACTERS = 3_500
"""Of an annotation; the runner cuts at 4,096."""


def append_summary(report: SessionReport, path: Path) -> None:
    """Add the session to the summary of the job's step, shortened to what there is room for.

    Raises:
        ReportError: the step has written so much already that nothing would fit.
        OSError: the file cannot be written.
    """
    before = path.read_bytes() if path.exists() else b""
    gap = b"" if not before or before.endswith(b"\n\n") else b"\n\n"
    room = _MOST_BYTES - len(before) - len(gap)
    if room < _FEWEST_BYTES:
        raise ReportError(
            f"{path}: this step's summary has {format_bytes(len(before))} already, and GitHub shows at most 1 MiB; "
            "run pytest in a step of its own"
        )
    with path.open("ab") as file:
        file.write(gap + to_markdown(report, room).encode())


def annotation_lines(report: SessionReport, *, root: Path, workspace: str = "") -> tuple[str, ...]:
    """Commands for the log that make annotations: an error for what failed, a warning for what is not decided.

    Args:
        root: pytest's rootdir, to which the report's files are relative.
        workspace: folder of the checkout, to which GitHub's are; empty: `root`.

    The worst come first. Where there are more of a kind than a step can show, the last one holds the rest. A first
    baseline and a test that is new have nothing to be judged by, and a smoke run judges nothing: no warnings.
    """
    ranked = worst_first(report.cases)
    failed = [case for case in ranked if case.outcome in ("failed", "error")]
    undecided = [case for case in ranked if _is_warned_of(case, report)]
    base = PurePath(os.path.relpath(root, workspace) if workspace else ".")
    return (
        *_commands("error", failed, base),
        *_commands("warning", undecided, base),
        *_nothing_measured(report),
    )


def _is_warned_of(case: Case, report: SessionReport) -> bool:
    if case.outcome != "passed" or not is_open(case) or report.settings.smoke or report.settings.save:
        return False
    return not (report.against and case.word == Verdict.NO_BASELINE.value)


def _nothing_measured(report: SessionReport) -> Iterator[str]:
    """A session that skipped everything passes; nobody should take that for a gate."""
    skipped = [case for case in report.cases if case.outcome == "skipped"]
    if skipped and len(skipped) == len(report.cases):
        reasons = "\n".join(dict.fromkeys(case.text for case in skipped))
        text = f"{plural(len(skipped), 'test')} skipped and none measured:\n{reasons}"
        yield _command("warning", text, title="pytest-tfperf measured nothing")


def _commands(kind: str, cases: Sequence[Case], base: PurePath) -> Iterator[str]:
    shown = cases if len(cases) <= _MOST_ANNOTATIONS else cases[: _MOST_ANNOTATIONS - 1]
    for case in shown:
        yield _command(kind, case_text(case), file=_path(case, base), line=str(case.line), title=_title(case))
    if rest := cases[len(shown) :]:
        text = "\n".join(f"{_title(case)} ({case.file}:{case.line})" for case in rest)
        yield _command(kind, text, title=f"{len(rest)} more tests")


def _title(case: Case) -> str:
    return f"{status(case)}: {case.id}"


def _path(case: Case, base: PurePath) -> str:
    return os.path.normpath(base / case.file)


def _command(kind: str, text: str, **properties: str) -> str:
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {given}::{_data(shortened(printable(text).strip(), _MOST_CHARACTERS))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
