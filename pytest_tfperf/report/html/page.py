"""Composes the page."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pytest_tfperf.report.document import Case, SessionReport
from pytest_tfperf.report.html.assets import charts, own_script, style, style_of_reports, table_script
from pytest_tfperf.report.html.rows import VerdictRow, by_need, verdict_rows
from pytest_tfperf.report.html.sections import sections
from pytest_tfperf.report.html.words import counted
from pytest_tfperf.units import format_percent, format_seconds, plural

_FILTERS = (
    ("Outcome", "outcome"),
    ("Workload", "workload"),
    ("Strategy", "strategy"),
    ("Device", "device"),
    ("Replicas", "replicas"),
)
"""Choices over the table of verdicts: their label, and the field of a case."""


def to_html(report: SessionReport) -> str:
    """The report as one HTML file that needs nothing else: no network, and no script but for charts and sorting."""
    rows = verdict_rows(report.cases)
    sorting = (table_script(), own_script("table.js"))
    scripts = (charts(), own_script("charts.js"), own_script("drawing.js"), own_script("page.js"))
    page = _templates().get_template("report.html.j2")
    text = page.render(
        report=report,
        title=report.tally or "no test of distributed training was selected",
        started=report.started.replace("T", " ").replace("Z", " UTC"),
        command="pytest " + shlex.join(report.arguments),
        settings=_settings(report),
        rows=by_need(rows),
        words=counted(case.word for case in report.cases),
        choices=[choice for choice in (_choice(report.cases, *each) for each in _FILTERS) if len(choice[2]) > 1],
        changes=_changes(report, rows),
        judged=sum(1 for case in report.cases if case.judgement and case.judgement.baseline),
        sections=sections(report, rows),
        styles=style() + style_of_reports(),
        table_scripts=sorting,
        scripts=scripts,
        policy=policy((*sorting, *scripts)),
    )
    # A name that is no text, such as a file's, must not cost the report.
    return text.encode("utf-8", "backslashreplace").decode()


def _changes(
    report: SessionReport, rows: Sequence[VerdictRow]
) -> list[tuple[str, str | None, str | None, list[VerdictRow]]]:
    """What changed in the environment: key, then, now, and the rows that saw it."""
    by_id = {row.case.id: row for row in rows}
    return [(*change, [by_id[case.id] for case in cases]) for change, cases in report.changes().items()]


def policy(scripts: tuple[str, ...]) -> str:
    """A Content-Security-Policy under which only these scripts run, and nothing is fetched or sent."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("pytest_tfperf.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(seconds=format_seconds, plural=plural, breakable=_breakable)
    return environment


def _breakable(name: str) -> Markup:
    """A test's name that breaks between its parts where there is no room for all of it."""
    return Markup("::<wbr>").join(escape(part) for part in name.split("::"))


def _settings(report: SessionReport) -> str:
    given = report.settings
    parts = [
        # A test may have its own, or a baseline's file: its table says which one counted.
        f"the session's default tolerance {format_percent(given.tolerance)}",
        f"at most {plural(given.rounds, 'round')}",
        f"timed windows of {format_seconds(given.window_seconds)}",
    ]
    parts += ["--tfperf-strict"] if given.strict else []
    parts += ["--tfperf-save"] if given.save else []
    return ", ".join(parts)


def _choice(cases: tuple[Case, ...], label: str, name: str) -> tuple[str, str, list[str]]:
    values = {getattr(case, name) for case in cases}
    return label, name, [str(value) for value in sorted(values)]
