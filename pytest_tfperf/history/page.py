"""The history as one page that opens offline: a chart for each figure of each arm, and its change points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pytest_tfperf.history.words import VERDICTS, ArmText, MetricText, shown_commit, shown_value, unit_of
from pytest_tfperf.report.html.assets import charts, inline, style
from pytest_tfperf.report.html.page import policy

_TEMPLATES = files("pytest_tfperf.history") / "templates"


@dataclass(frozen=True)
class PageHead:
    """What the page is of."""

    source: str
    """The database, without its password."""
    made: str
    """UTC."""
    summary: str


def to_page(arms: Sequence[ArmText], head: PageHead) -> str:
    """The page as HTML."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_TEMPLATES.joinpath("history.html").read_text(encoding="utf-8"))
    script = inline(_TEMPLATES.joinpath("history.js").read_text(encoding="utf-8"))
    figures = [(arm, metric) for arm in arms for metric in arm.metrics]
    numbers = {(id(arm), metric.metric): number for number, (arm, metric) in enumerate(figures)}
    return template.render(
        head=head,
        arms=arms,
        number=lambda arm, metric: numbers[id(arm), metric.metric],
        rows=_rows,
        changed=[(arm, metric, change) for arm, metric in figures for change in metric.changes],
        data=[_chart(metric) for _, metric in figures],
        charts=charts(),
        script=script,
        style=style(),
        policy=policy((charts(), script)),
        verdict=VERDICTS.get,
    )


def _chart(metric: MetricText) -> dict[str, Any]:
    return {
        "label": metric.label,
        "unit": unit_of(metric.metric),
        "nights": [
            {
                "date": night.date,
                "value": value,
                "shown": shown_value(metric.metric, value),
                "commit": shown_commit(night),
                "verdict": night.verdict,
            }
            for night, value in zip(metric.nights, metric.values)
        ],
        "levels": [{"first": level.first, "last": level.last, "value": level.value} for level in metric.levels],
        "changes": [
            {"date": change.date, "state": change.state, "text": f"{change.size}, {change.word}"}
            for change in metric.changes
        ],
    }


def _rows(arm: ArmText) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """For the table of an arm: date, commit, the gate's verdict, and each figure."""
    found = []
    nights = {night.date: night for metric in arm.metrics for night in metric.nights}
    values = [{night.date: value for night, value in zip(each.nights, each.values)} for each in arm.metrics]
    for date, night in sorted(nights.items(), reverse=True):
        figures = tuple(
            shown_value(metric.metric, own[date]) if date in own else "" for metric, own in zip(arm.metrics, values)
        )
        found.append((date, shown_commit(night), night.verdict, figures))
    return found
