"""The table of a contest: nobody is dropped, ratios are within rounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.alternatives.contestant import Outcome
from benchmarks.alternatives.table import table
from benchmarks.alternatives.timing import measure
from pytest_tfperf.records.cost import ModelCost

GPU = "NVIDIA H100 80GB HBM3"


def runs(*rates: float) -> list[Outcome]:
    return [Outcome(rate, 40.0 + rate / 1000, 124_439_808, 7.0, GPU) for rate in rates]


def cells(text: str, name: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(name)).removeprefix(name).split()


def test_a_row_has_median_spread_ratio_and_utilisation() -> None:
    text = table({"ours": runs(400, 500, 510), "keras loop": runs(200, 240, 260)}, ModelCost(1e12), "bfloat16")
    # Ratios of the rounds: 0.5, 0.48 and 0.51.
    assert cells(text, "keras loop") == [
        *("240.0", "25.0", "%", "0.500", "40.2", "s", "124", "439", "808", "240", "TFLOP/s", "24.3", "%")
    ]
    assert cells(text, "ours")[3] == "1.000"


def test_one_that_is_not_there_keeps_its_row_and_has_a_reason() -> None:
    missing = [Outcome(problem="not installed: no module 'keras_hub'")]
    text = table({"ours": runs(400, 410), "keras_hub fit": missing}, None, "bfloat16")
    assert cells(text, "keras_hub fit ") == ["none"]
    assert text.endswith("keras_hub fit: not installed: no module 'keras_hub'")


def test_one_that_fails_later_has_its_figures_and_the_reason() -> None:
    text = table({"ours": runs(400, 500), "keras loop": [*runs(200), Outcome(problem="killed")]}, None, "float16")
    assert cells(text, "keras loop ")[:2] == ["200.0", "0.500"]
    assert text.endswith("keras loop: killed")


def test_without_ours_there_is_no_ratio() -> None:
    text = table({"ours": [Outcome(problem="killed")], "keras loop": runs(200)}, None, "float16")
    assert cells(text, "keras loop ")[:3] == ["200.0", "40.2", "s"]


class _Steps:
    """Steps of 0.1 s on a fake clock, the first of 30 s."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[int] = []

    def run(self, steps: int) -> float:
        self.now += 0.1 * steps if self.calls else 30.0
        self.calls.append(steps)
        return 1.0

    def clock(self) -> Callable[[], float]:
        return lambda: self.now


def test_windows_are_of_as_many_steps_as_fill_them(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = _Steps()
    monkeypatch.setattr("benchmarks.alternatives.timing.time.monotonic", steps.clock())
    times = measure(steps, warmup_seconds=2.0, window_seconds=1.0, windows=3)
    assert times.first_step == pytest.approx(30.0)
    assert times.step == pytest.approx(0.1)
    assert steps.calls[:2] == [1, 5]
    assert steps.calls[-3:] == [10, 10, 10]
    # Warm-up: 0.5 s in the first five, the rest a quarter of 2 s each.
    assert steps.calls[2:-3] == [5, 5, 5]
