"""The failure as a person reads it, to the letter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.report.text import failure_text, summary_lines
from pytest_tfperf.report.view import ArmView, arm_view
from tests.unit.canned import NOISE, baseline, judged

HARD: dict[str, str | int] = {"gpu_model": "NVIDIA H100 80GB HBM3", "gpu_count": 4, "cpu_cores": 64}
CHANGES = (("tensorflow", "2.20.0", "2.21.0"), ("nccl", "2.26.2", "2.28.3"))


def view_of(
    verdict: ArmVerdict,
    soft_changes: Sequence[tuple[str, str | None, str | None]] = (),
    warnings: Sequence[str] = (),
    variant: str | None = None,
) -> ArmView:
    return arm_view(
        verdict,
        environment=Environment(HARD, {}),
        soft_changes=soft_changes,
        warnings=warnings,
        details=["variables on CPU: 3"] if warnings else [],
        rounds=5,
        seconds=41.2,
        command='pytest "perf_tests/test_resnet.py::test_scales[4]" --tfperf-rounds 10',
        variant=variant,
    )


def test_a_regression() -> None:
    text = failure_text(view_of(judged(four=17940, floor=0.85), CHANGES))
    assert text.splitlines() == [
        "resnet50 / multi_worker_mirrored / 4 x NVIDIA H100 80GB HBM3   REGRESSED",
        "                           baseline              now    change",
        "  T(1)  examples/s   5 700 +- 0.2 %   5 700 +- 0.2 %    +0.0 %    [-0.6, +0.6]  unchanged",
        "  T(4)  examples/s  20 500 +- 0.2 %  17 940 +- 0.2 %   -12.5 %  [-13.0, -11.9]  regressed, tolerance 3.0 %",
        "  E(4)                        0.899            0.787  -11.2 pt  [-11.8, -10.7]  regressed, tolerance 3.0 %, "
        "and under its floor 0.850",
        "What moved: T(4) and E(4). One replica is as fast as before, so the loss is in scaling, not in the model.",
        "E(4) 0.787 is under its floor 0.850 (set in the test).",
        "Since the baseline of 2026-11-20 (a1b2c3d): tensorflow 2.20.0 -> 2.21.0, nccl 2.26.2 -> 2.28.3.",
        "+- half the 95 % interval of the mean over runs; [ ] the 99.979 % interval of the change, for E(4) 99.99 %",
        '5 rounds in 41.2 s. Again: pytest "perf_tests/test_resnet.py::test_scales[4]" --tfperf-rounds 10',
    ]


def test_a_variant_is_named_as_it_may_have_the_same_title_otherwise() -> None:
    titles = [line.partition("  ")[0] for line, _ in summary_lines([view_of(judged()), view_of(judged(), variant="a")])]
    alike = "resnet50 / multi_worker_mirrored / 4 x NVIDIA H100 80GB HBM3"
    assert titles == [alike, f"{alike}, variant a"]


def test_a_baseline_of_several_sessions_names_the_newest() -> None:
    text = failure_text(view_of(judged(four=17940, stored=baseline(sessions=(1.0, 1.0, 1.0))), CHANGES))
    assert "Since the newest of 3 sessions, 2026-11-20 (a1b2c3d): tensorflow 2.20.0 -> 2.21.0, nccl" in text


def test_what_both_lost_has_a_row_only_where_it_says_more_than_they_do() -> None:
    runs, alike = (1.012, 0.991, 1.004, 0.988, 1.006), (1.004, 0.998, 1.0)
    both = failure_text(view_of(judged(one=5700 / 1.05, four=20500 / 1.05, noise=runs, sessions=alike)))
    assert "T(1) x T(4)  examples/s" in both
    assert "T(1) and T(4) taken together lost 4.8 %, more than noise and days explain." in both
    assert "; T(1) x T(4): their geometric mean; as far" in both
    assert "; as far as sessions differ, " in both
    first = failure_text(view_of(judged(one=5700 / 1.05, four=20500 / 1.05, noise=runs)))
    assert "; at least 4 % where a day may do it, of which 1 session says little" in first
    one = failure_text(view_of(judged(four=20500 / 1.05, noise=runs, sessions=alike)))
    assert "T(4)  examples/s" in one
    assert "T(1) x T(4)" not in one
    assert "geometric" not in one


def test_a_loss_that_another_figure_shows_names_it_where_its_own_interval_holds_no_change() -> None:
    runs = (0.98, 0.973, 1.02, 0.987, 1.012)
    told = failure_text(view_of(judged(one=5700 / 1.05, four=20500 / 1.05, noise=runs)))
    rows = [line for line in told.splitlines() if line.startswith(("  T(1) ", "  T(4) "))]
    assert [row.rpartition("]  ")[2] for row in rows] == [
        "regressed, see T(1) x T(4), tolerance 3.0 %", "regressed, see T(1) x T(4), tolerance 3.0 %",
        "regressed, tolerance 3.0 %",
    ]  # fmt: skip


def test_no_baseline_shows_what_was_measured() -> None:
    text = failure_text(view_of(judged(missing="no baseline of resnet50 for this machine")))
    assert "NO_BASELINE" in text
    assert "T(4)  examples/s  20 500 +- 0.2 %" in text
    assert "No baseline of resnet50 for this machine." in text
    assert "baseline  " not in text


def test_headline_names_only_what_regressed() -> None:
    headline = view_of(judged(one=5000)).headline
    assert headline.startswith("regressed (T(1) -12.3 %): resnet50 / multi_worker_mirrored")
    assert "T(4)" not in headline


def test_nothing_changed_is_said_too() -> None:
    text = failure_text(view_of(judged(four=17940)))
    assert "Since the baseline of 2026-11-20 (a1b2c3d): no version or setting changed." in text


def test_warnings_are_shown() -> None:
    assert "Odd: worker:1 was odd." in failure_text(view_of(judged(four=17940), warnings=["worker:1 was odd"]))


def test_an_efficiency_that_decides_nothing_is_shown_as_open_in_the_colour_of_unchanged() -> None:
    opposite = (0.98, 0.99, 1.0, 1.01, 1.02)
    row = view_of(judged(noise=opposite, stored=baseline(noise=opposite))).rows[-1]
    assert (row.verdict, row.severity) == ("open, but T(1) and T(4) lost nothing", Verdict.UNCHANGED)


def test_an_efficiency_that_fell_as_t1_got_faster_is_shown_so() -> None:
    row = view_of(judged(one=6300)).rows[-1]
    assert (row.verdict, row.severity) == ("regressed, but only as T(1) got faster", Verdict.UNCHANGED)


def test_a_look_too_early_for_alarms_has_no_interval_of_the_change() -> None:
    text = failure_text(view_of(judged(noise=NOISE[:2], planned=5)))
    assert "[no interval]" in text
    assert "+- half the 95 % interval of the mean over runs\n" in text


def test_one_run_shows_no_interval() -> None:
    text = failure_text(view_of(judged(noise=(1.0,))))
    assert "[no interval]" in text
    assert "inf" not in text
    assert "nan" not in text


def test_what_it_is_held_against_has_a_row_with_its_floor() -> None:
    text = failure_text(view_of(judged(versus=10000, speedup_floor=2.5)))
    assert "S(4)  x mirrored" in text
    assert "2.050 +- 0.2 %" in text
    assert "under its floor 2.500" in text


def test_summary_has_one_line_an_arm() -> None:
    lines = list(summary_lines([view_of(judged()), view_of(judged(four=17940))]))
    assert [verdict for _, verdict in lines] == [Verdict.UNCHANGED, Verdict.REGRESSED]
    assert all("T(4)" in line and "E(4)" in line for line, _ in lines)
    assert "(-12.5 %)" in lines[1][0]


def test_an_interval_that_holds_all_that_may_be_is_none() -> None:
    """Also of an efficiency, whose points are fewer than 100."""
    verdict = judged(four=10000)
    changes = [replace(each.comparison.change, low=1e-6, high=1e6) for each in verdict.metrics]
    wide = [
        replace(metric, comparison=replace(metric.comparison, change=change))
        for metric, change in zip(verdict.metrics, changes)
    ]
    assert failure_text(view_of(replace(verdict, metrics=tuple(wide)))).count("[no interval]") == 3


def test_an_interval_that_says_nothing_is_not_printed_at_length() -> None:
    """Of one stored run: the width has no bound that means anything."""
    text = failure_text(view_of(judged(noise=NOISE[:2], stored=baseline(noise=(1.0,)))))
    widths = re.findall(r"\[([^]]*)\]", text)
    assert widths
    assert all(len(width) < 40 for width in widths)
    assert "over +1000]" in text
