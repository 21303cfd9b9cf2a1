"""What becomes of each test, and the reports of the session at its end."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from pytest_tfperf.cases import TestCase
from pytest_tfperf.fixtures import ARM, SESSION
from pytest_tfperf.redaction import without_secrets
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
    try:
        _finish(session, exit_status)
    except KeyboardInterrupt:  # between two of them, or before the first
        text = "the reports were interrupted, and may not have been written"
        session.config.stash[WRITTEN] = (Written(text, failed=True, interrupted=True),)
        session.exitstatus = pytest.ExitCode.INTERRUPTED


def _finish(session: pytest.Session, exit_status: int) -> None:
    config = session.config
    perf = config.stash[SESSION]
    outputs = perf.config.outputs
    if not len(perf.cases):  # a pytest that has nothing of ours adds nothing to a job by itself
        outputs = replace(outputs, job_summary=None, annotate=False)
    if not (outputs or outputs.annotate) or config.option.collectonly:
        return
    report = perf.overview(exit_status, without_secrets(config.invocation_params.args))
    if outputs.annotate:
        from pytest_tfperf.report.github import annotation_lines

        workspace = os.environ.get("GITHUB_WORKSPACE", "")
        config.stash[ANNOTATIONS] = annotation_lines(report, root=config.rootpath, workspace=workspace)
    config.stash[WRITTEN] = written = write_reports(report, outputs)
    if any(one.interrupted for one in written):
        session.exitstatus = pytest.ExitCode.INTERRUPTED
