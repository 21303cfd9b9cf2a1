"""Warm-up and windows with a clock that only moves when a step is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import pytest

from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.loop import Loop, LoopResult, in_steps
from pytest_tfperf.measurement.steady_state import is_steady, truncation_point
from pytest_tfperf.records.run import Window
from tests.unit.fakes import FakeClock

POLICY = MeasurementPolicy(window_seconds=1.0, windows=4, warmup_min_steps=5, warmup_max_seconds=100.0)


class ScriptedStep:
    """Takes the scripted seconds, all of them in the wait, as a device that runs behind its host does."""

    def __init__(self, clock: FakeClock, durations: Sequence[float], then: float) -> None:
        self.clock = clock
        self.durations: Iterator[float] = chain(durations, repeat(then))
        self.calls: list[str] = []
        self.pending = 0.0

    def run(self, times: int = 1) -> None:
        for _ in range(times):
            self.calls.append("run")
            self.pending += next(self.durations)

    def wait(self) -> float:
        self.calls.append("wait")
        self.clock.time += self.pending
        self.pending = 0.0
        return 0.5


def alone(point: str, value: float) -> list[float]:
    return [value]


def loop_of(durations: Sequence[float], then: float, slowdown: float = 0.0) -> tuple[Loop, ScriptedStep]:
    clock = FakeClock()
    step = ScriptedStep(clock, durations, then)
    return Loop(step, clock, POLICY, alone, slowdown), step


def test_compilation_is_not_in_the_windows() -> None:
    loop, _ = loop_of([30.0, 0.5], then=0.1)
    result = loop.measure(synchronous=True)
    assert result.steady
    assert result.warmup[0] == pytest.approx(30)
    assert [window.seconds / window.steps for window in result.windows] == pytest.approx([0.1] * 4)


def test_warm_up_lasts_a_window_after_compiling_however_steady_the_steps() -> None:
    loop, _ = loop_of([50.0], then=0.01)
    warmup = loop.measure(synchronous=True).warmup
    assert warmup[0] == pytest.approx(50)
    assert sum(warmup[1:]) >= POLICY.window_seconds


def test_a_first_step_that_compiles_for_longer_than_warm_up_may_last_takes_nothing_from_it() -> None:
    loop, _ = loop_of([2 * POLICY.warmup_max_seconds, 0.5], then=0.1)
    result = loop.measure(synchronous=True)
    assert result.steady
    assert sum(result.warmup[1:]) >= POLICY.window_seconds
    assert [window.seconds / window.steps for window in result.windows] == pytest.approx([0.1] * 4)


def test_a_task_that_waits_for_another_to_compile_loses_nothing_of_its_warm_up() -> None:
    clock = FakeClock()
    step = ScriptedStep(clock, [5.0], then=0.1)

    def agree(point: str, value: float) -> list[float]:
        if point == "first step":
            clock.sleep(2 * POLICY.warmup_max_seconds)
        return [value]

    result = Loop(step, clock, POLICY, agree).measure(synchronous=False)
    assert result.steady
    assert sum(result.warmup[1:]) >= POLICY.window_seconds


def test_warm_up_goes_on_while_the_step_time_still_falls() -> None:
    falling = [30.0, *(2.0 * 0.7**k for k in range(12))]
    settled, _ = loop_of([30.0], then=0.1)
    slow, _ = loop_of(falling, then=0.01)
    assert len(slow.measure(True).warmup) > len(settled.measure(True).warmup)


def test_what_begins_is_told_as_it_begins() -> None:
    clock = FakeClock()
    step = ScriptedStep(clock, [5.0], then=0.1)
    told: list[tuple[str, int]] = []
    Loop(step, clock, POLICY, alone, enter=lambda part: told.append((part, step.calls.count("run")))).measure(True)
    assert [part for part, _ in told] == ["first step", "warm-up", "timed windows"]
    assert [steps for _, steps in told][:2] == [0, 1]
    assert step.calls.count("run") == told[2][1] + POLICY.windows * 10


def test_a_step_time_that_never_settles_ends_at_the_deadline_and_is_marked() -> None:
    loop, _ = loop_of([0.9**k * 50 for k in range(200)], then=1e-9)
    result = loop.measure(synchronous=True)
    assert not result.steady
    assert len(result.windows) == 4


def test_every_window_ends_with_a_wait_for_the_device() -> None:
    loop, step = loop_of([5.0], then=0.1)
    loop.measure(synchronous=True)
    assert step.calls[-1] == "wait"
    assert step.calls[-11:-1] == ["run"] * 10


def test_every_step_is_counted_warm_up_included() -> None:
    loop, step = loop_of([5.0], then=0.25)
    assert loop.measure(synchronous=True).steps == step.calls.count("run")


def test_calls_of_several_steps_are_told_in_steps() -> None:
    calls = LoopResult((2.0, 0.4), True, (Window(3.0, 4.0, 5),), (0.5,), 12)
    assert in_steps(calls, 4) == LoopResult((0.5, 0.1), True, (Window(3.0, 4.0, 20),), (0.5,), 48)
    assert in_steps(calls, 1) == calls


def test_slowdown_lengthens_the_steps_by_its_fraction() -> None:
    plain, _ = loop_of([5.0], then=0.1)
    slowed, _ = loop_of([5.0], then=0.1, slowdown=0.5)
    usual = plain.measure(True).windows[0]
    longer = slowed.measure(True).windows[0]
    assert longer.seconds / longer.steps == pytest.approx(1.5 * usual.seconds / usual.steps)


def test_a_step_that_waited_for_a_slowed_peer_is_not_slowed_for_that_too() -> None:
    loop, _ = loop_of([5.0, 0.1, 1.0], then=0.1, slowdown=9.0)
    seconds = [loop.window(1).seconds for _ in range(4)]
    assert seconds[1:] == pytest.approx([0.1 + 0.9, 1.0 + 0.9, 0.1 + 0.9])


def test_the_step_that_compiles_is_not_slowed() -> None:
    loop, _ = loop_of([5.0], then=0.1, slowdown=9.0)
    assert loop.window(1).seconds == pytest.approx(5.0)


def test_all_tasks_follow_the_slowest_in_warm_up_and_window_size() -> None:
    clock = FakeClock()
    step = ScriptedStep(clock, [5.0], then=0.1)
    asked: list[tuple[str, float]] = []

    def agree(point: str, value: float) -> list[float]:
        asked.append((point, value))
        if point == "step time":
            return [value, 0.5]
        return [value, 0.0] if len([p for p, _ in asked if p.startswith("warm-up")]) < 6 else [value, 2.0]

    result = Loop(step, clock, POLICY, agree).measure(synchronous=True)
    assert len([point for point, _ in asked if point.startswith("warm-up")]) == 6
    assert {window.steps for window in result.windows} == {2}


def test_workers_that_do_not_wait_for_each_other_run_for_the_same_time() -> None:
    clock = FakeClock()
    step = ScriptedStep(clock, [5.0], then=0.1)

    def agree(point: str, value: float) -> list[float]:
        return [value, 0.2] if point == "step time" else [value]

    result = Loop(step, clock, POLICY, agree).measure(synchronous=False)
    assert {window.steps for window in result.windows} == {5}
    assert result.windows[-1].end - result.windows[0].start >= POLICY.windows * POLICY.window_seconds - 1e-9


@pytest.mark.parametrize(
    ("durations", "cut"),
    [([1.0] * 8, 0), ([50.0, 1, 1.1, 0.9, 1, 1.1, 0.9, 1], 1), ([50.0, 8, 1, 1.1, 0.9, 1, 1.1, 0.9], 2)],
)
def test_truncation_point(durations: list[float], cut: int) -> None:
    assert truncation_point(durations) == cut


def test_a_falling_series_is_not_steady_and_too_few_steps_never_are() -> None:
    assert not is_steady([64.0, 32, 16, 8, 4, 2, 1, 0.5], 5)
    assert not is_steady([1.0, 1.0, 1.0], 2)
    assert is_steady([9.0, 1, 1.1, 1, 0.9, 1], 6)
