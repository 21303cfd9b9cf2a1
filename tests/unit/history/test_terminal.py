"""Lines for a terminal."""

from __future__ import annotations

from pytest_tfperf.history.terminal import Terminal, history_lines, plot, sparkline, summary_line
from pytest_tfperf.history.words import ArmText, arm_text
from pytest_tfperf.records.comparison import Verdict
from tests.unit.history.test_changes import TODAY, arm, found, step


def text(**levels: float) -> ArmText:
    (trend,) = found(arm(own=step(360, levels.get("after", 360))))
    return arm_text(trend, TODAY)


def test_a_sparkline_spans_its_values() -> None:
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5]) == "▅▅"
    assert sparkline([100, 101, 100]) == "▄▅▄"  # one percent is no mountain
    assert sparkline([100, *range(40)], width=3) == "▁▅█"


def test_a_plot_has_the_dates_and_the_levels() -> None:
    (metric,) = [metric for metric in text(after=300).metrics if metric.label == "T(4)"]
    lines = plot(metric, 70)
    assert max(map(len, lines)) <= 70
    drawn = "\n".join(lines)
    assert "2026-09-01" in drawn
    assert "\x1b" not in drawn


def test_plots_only_where_they_can_be_seen() -> None:
    wide = [line for line, _ in history_lines([text(after=300)], Terminal(120, True, True))]
    narrow = [line for line, _ in history_lines([text(after=300)], Terminal(60, True, True))]
    pipe = [line for line, _ in history_lines([text(after=300)], Terminal(120, False, True))]
    assert len(wide) > len(narrow) == len(pipe)
    ascii_only = [line for line, _ in history_lines([text()], Terminal(120, False, False))]
    assert all(line.isascii() for line in ascii_only)


def test_the_last_line_counts() -> None:
    assert summary_line([text()]) == ("1 arm, no change point in the 1 with nights enough", None)
    line, verdict = summary_line([text(after=300)])
    assert line == "1 arm, 2 change points: 2 for the worse that nobody has acknowledged"
    assert verdict is Verdict.REGRESSED
