from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_tfperf.measurement.pace import SECONDS, STEPS, measure_pace, pace_of_windows
from pytest_tfperf.records.run import Window
from tests.unit.fakes import FakeClock


def scripted(clock: FakeClock, durations: list[float], then: float) -> tuple[Callable[[], None], list[float]]:
    calls: list[float] = []

    def alone() -> None:
        calls.append(durations[len(calls)] if len(calls) < len(durations) else then)
        clock.sleep(calls[-1])

    return alone, calls


def test_the_median_of_a_few_slow_steps_counts_without_the_first_one() -> None:
    clock = FakeClock()
    alone, calls = scripted(clock, [30.0, 0.5, 0.5, 9.0, 0.5], then=0.0)
    assert measure_pace(alone, clock, lambda point, value: [value]) == pytest.approx(0.5)
    assert len(calls) == 2 + STEPS


def test_quick_steps_are_many() -> None:
    clock = FakeClock()
    alone, calls = scripted(clock, [1.0], then=0.001)
    assert measure_pace(alone, clock, lambda point, value: [value]) == pytest.approx(0.001)
    assert len(calls) == 2 + round(SECONDS / 0.001)


def test_every_task_runs_as_many_as_the_quickest_needs() -> None:
    """A model may hold communication of its own: a task that ran one more would wait for ever."""
    clock = FakeClock()
    alone, calls = scripted(clock, [], then=1.0)
    points = []

    def agree(point: str, value: float) -> list[float]:
        points.append(point)
        return [value, 17.0]

    measure_pace(alone, clock, agree)
    assert len(calls) == 2 + 17
    assert len(points) == 2


def test_pace_of_windows() -> None:
    assert pace_of_windows([Window(0, 1, 10), Window(1, 4, 10)]) == pytest.approx(0.2)
    assert pace_of_windows([]) is None
