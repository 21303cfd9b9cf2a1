"""What becomes of each test, and the reports of the session at its end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from pytest_tfperf.cases import TestCase
from pytest_tfperf.fixtures import ARM, SESSION
from pytest_tfperf.history import hide_passwords
from pytest_tfperf.reporting import Written, write_reports

WRITTEN = pytest.StashKey[tuple[Written, ...]]()
"""What became of each report, for the summary."""
ANNOTATIONS = pytest.StashKey[tuple[str, ...]]()
"""Lines that GitHub Actions makes annotations of."""


def expect(items: list[pytest.Item]) -> None:
    """Take the selected tests."""
    for item in items:
        if ARM in item.stash:
            spec, replicas, _ = item.stash[ARM]
            path, line, _ = item.location
            cases = item.config.stash[SESSION].cases
            cases.add(TestCase(item.nodeid, spec, replicas, path, (line or 0) + 1))


def note(item: pytest.Item, report: pytest.TestReport) -> None:
    """Take what became of a phase of a test."""
    if ARM not in item.stash:
        return
    cases = item.config.stash[SESSION].cases
    if report.when == "setup":
        cases.restart(item.nodeid)  # by a plugin that runs it once more
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        cases.note(item.nodeid, "skipped", reason.removeprefix("Skipped: "))
    elif report.failed:
        cases.note(item.nodeid, "failed" if report.when == "call" else "error", report.longreprtext)
    elif report.when == "call":
        cases.note(item.nodeid, "passed")


def finish(session: pytest.Session, exit_status: int) -> None:
    """Write the reports that were asked for."""
    config = session.config
    perf = config.stash[SESSION]
    outputs = perf.config.outputs
    if not any(True for _ in perf.cases):  # a pytest that has nothing of ours adds nothing to a job by itself
        outputs = replace(outputs, job_summary=None, annotate=False)
    if not (outputs or outputs.annotate) or config.option.collectonly:
        return
    report = perf.overview(exit_status, without_passwords(config.invocation_params.args))
    if outputs.annotate:
        from pytest_tfperf.report.github import annotation_lines

        workspace = os.environ.get("GITHUB_WORKSPACE", "")
        config.stash[ANNOTATIONS] = annotation_lines(report, root=config.rootpath, workspace=workspace)
    config.stash[WRITTEN] = write_reports(report, outputs)


_SECRET = re.compile(
    r"token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|\bauth\b", re.IGNORECASE
)


def without_passwords(arguments: Iterable[str]) -> tuple[str, ...]:
    """A command line with *** for its secrets: reports are shown to more people than a shell is.

    Those are the passwords of URLs, and what is given to an option, or assigned to an ini value, whose name says that
    it is secret: ``--api-token=x``, ``--api-token x``, ``-o password=x``.
    """
    shown: list[str] = []
    is_secret = False
    for argument in map(str, arguments):
        name, assigned, _ = argument.partition("=")
        if is_secret and not argument.startswith("-"):
            shown.append("***")
            is_secret = False
            continue
        secret_name = bool(_SECRET.search(name.replace("-", "_"))) and "/" not in name and "::" not in name
        if secret_name and assigned:
            shown.append(f"{name}=***")
        else:
            shown.append(hide_passwords(argument))
        is_secret = secret_name and not assigned and argument.startswith("--")
    return tuple(shown)
