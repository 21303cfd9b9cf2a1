"""The history in a terminal: a plot where there is room for one, a sparkline or plain figures elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_tfperf.history.words import VERDICTS, ArmText, MetricText, shown_value
from pytest_tfperf.report.text import Styled
from pytest_tfperf.units import plural

PLOT_WIDTH = 80
"""Columns below which a plot says less than a sparkline."""
PLOT_HEIGHT = 11
MOST_PLOTS = 6
"""More would scroll out of sight; the page has them all."""
_BARS = "▁▂▃▄▅▆▇█"
_SPARKS = 30
_LEAST_SPREAD = 0.05


@dataclass(frozen=True)
class Terminal:
    """What the output can show."""

    width: int
    interactive: bool
    unicode: bool

    @property
    def plots(self) -> bool:
        return self.interactive and self.unicode and self.width >= PLOT_WIDTH


def history_lines(arms: Sequence[ArmText], terminal: Terminal) -> Iterator[Styled]:
    """Everything about the arms; those with a change point that counts are plotted first of all."""
    plotted = _plotted(arms) if terminal.plots else set()
    for arm in arms:
        yield f"{arm.name}  {arm.what}", None
        yield f"  {arm.span}; {arm.where}", None
        width = max((len(metric.label) for metric in arm.metrics), default=0)
        wide = max((len(metric.now) for metric in arm.metrics), default=0)
        for metric in arm.metrics:
            trend = _trend(metric, terminal)
            yield f"  {metric.label.ljust(width)}  {metric.now.ljust(wide)}  {trend}".rstrip(), None
            if (arm.name, arm.where, metric.label) in plotted:
                yield from ((f"    {line}", None) for line in plot(metric, terminal.width - 6))
            yield from ((f"    {change.line}", VERDICTS.get(change.state)) for change in metric.changes)
        if arm.note:
            yield f"  {arm.note}", None
        yield "", None


def summary_line(arms: Sequence[ArmText]) -> Styled:
    """One line for all of it."""
    states = [change.state for arm in arms for metric in arm.metrics for change in metric.changes]
    if not states:
        looked = sum(not arm.note for arm in arms)
        if not looked:
            return f"{plural(len(arms), 'arm')}, none with nights enough to look for change points", None
        return f"{plural(len(arms), 'arm')}, no change point in the {looked} with nights enough", None
    parts = [f"{states.count(state)} {word}" for state, word in _COUNTED if state in states]
    worst = VERDICTS["open"] if "open" in states else None
    return f"{plural(len(arms), 'arm')}, {plural(len(states), 'change point')}: {', '.join(parts)}", worst


_COUNTED = (
    ("open", "for the worse that nobody has acknowledged"),
    ("acknowledged", "acknowledged"),
    ("recovered", "recovered since"),
    ("explained", "of E(N) alone, as T(1) got faster"),
    ("improved", "for the better"),
)


def sparkline(values: Sequence[float], width: int = _SPARKS) -> str:
    """The last so many values as bars between their least and their greatest, or over 5 % where these are nearer.

    Noise that filled the whole height would look like news.
    """
    shown = values[-width:]
    low, high = min(shown), max(shown)
    middle = (low + high) / 2
    spread = max(high - low, _LEAST_SPREAD * middle)
    return "".join(_BARS[round(((value - middle) / spread + 0.5) * (len(_BARS) - 1))] for value in shown)


def plot(metric: MetricText, width: int) -> list[str]:
    """Nights as points, change points as lines from top to bottom."""
    import plotext

    dates = [night.date for night in metric.nights]
    nights = list(range(len(metric.values)))
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, PLOT_HEIGHT)
    for change in metric.changes:
        figure.line(dates.index(change.date) - 0.5, "vertical")
    figure.draw(figure.signal(nights, list(metric.values), marker="dot"))
    places = sorted({round(share * (len(nights) - 1)) for share in (0, 1 / 3, 2 / 3, 1)})
    figure.ruler("x").ticks(places, [dates[place] for place in places])
    low, high = min(metric.values), max(metric.values)
    levels = [low, high] if high > low else [low]
    figure.ruler("y").ticks(levels, [shown_value(metric.metric, level) for level in levels])
    return [line.rstrip() for line in figure.build().string(colorless=True).splitlines()]


def _plotted(arms: Sequence[ArmText]) -> set[tuple[str, str, str]]:
    """The figures that are worth the room: those with a change that counts, else with any, else of a few arms."""
    named = [(arm, metric) for arm in arms for metric in arm.metrics if len(metric.values) > 1]

    def weight(metric: MetricText) -> int:
        states = {change.state for change in metric.changes}
        return 0 if "open" in states else 1 if states else 2

    ranked = sorted(named, key=lambda each: weight(each[1]))
    worth = [each for each in ranked if weight(each[1]) < 2 or len(named) <= MOST_PLOTS]
    return {(arm.name, arm.where, metric.label) for arm, metric in worth[:MOST_PLOTS]}


def _trend(metric: MetricText, terminal: Terminal) -> str:
    if len(metric.values) < 2:
        return ""
    if terminal.unicode:
        return sparkline(metric.values)
    low, high = (shown_value(metric.metric, value) for value in (min(metric.values), max(metric.values)))
    return f"from {shown_value(metric.metric, metric.values[0])}, between {low} and {high}"
