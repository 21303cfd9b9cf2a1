"""Warm-up and timed windows of one task. Knows no TensorFlow: a step, a wait and a clock are enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.clock import Clock
from pytest_tfperf.measurement.steady_state import is_steady, truncation_point
from pytest_tfperf.records.run import Window


class TimedStep(Protocol):
    """The part of a training step that the loop needs."""

    def run(self, times: int = 1) -> None: ...

    def wait(self) -> float: ...


Agree = Callable[[str, float], list[float]]
"""Gather one number of every training task at a named point, its own included; blocks until all are there."""


@dataclass(frozen=True)
class LoopResult:
    """Seconds per warm-up step, the windows, and the loss at the end of each."""

    warmup: tuple[float, ...]
    steady: bool
    windows: tuple[Window, ...]
    losses: tuple[float, ...]
    steps: int


def in_steps(result: LoopResult, steps_per_call: int) -> LoopResult:
    """What a loop counted in calls, in training steps, where each call makes several."""
    return LoopResult(
        warmup=tuple(seconds / steps_per_call for seconds in result.warmup),
        steady=result.steady,
        windows=tuple(Window(each.start, each.end, each.steps * steps_per_call) for each in result.windows),
        losses=result.losses,
        steps=result.steps * steps_per_call,
    )


class Loop:
    """Measures one step; `slowdown` lengthens every step by that fraction, to test the gate with."""

    def __init__(
        self,
        step: TimedStep,
        clock: Clock,
        policy: MeasurementPolicy,
        agree: Agree,
        slowdown: float = 0.0,
        enter: Callable[[str], None] = lambda part: None,
    ) -> None:
        """`enter` is told what begins: ``first step``, ``warm-up``, ``timed windows``."""
        self._step = step
        self._clock = clock
        self._policy = policy
        self._agree = agree
        self._slowdown = slowdown
        self._enter = enter
        self._quickest = inf
        """Seconds of a step, in the quickest window so far."""
        self._steps = 0
        self._losses: list[float] = []

    def warm_up(self) -> tuple[tuple[float, ...], bool]:
        """Run steps until all tasks find their step time settled; gives the seconds of each and whether they did.

        Every task runs the same number of steps, since a synchronous strategy would wait for ever otherwise:
        they agree after each batch of steps, and the slowest decides. After the first step of all, in which programs
        are compiled, warm-up lasts as long as a window at least, and as `warmup_max_seconds` at most.
        """
        self._enter("first step")
        durations = [self.window(1).seconds]
        self._enter("warm-up")
        # XLA may compile for minutes, in one task for longer than in another, which warms nothing up and raises no
        # device's clocks.
        self._agree("first step", durations[0])
        began = self._clock.now()
        batch = self._policy.warmup_min_steps - 1
        while True:
            durations += [self.window(1).seconds for _ in range(batch)]
            spent = self._clock.now() - began
            busy = spent >= self._policy.window_seconds
            steady = busy and is_steady(durations, self._policy.warmup_min_steps)
            late = spent > self._policy.warmup_max_seconds
            # 0: needs more, 1: out of time, 2: settled. All go on while any needs more and none is out of time.
            states = self._agree(f"warm-up {len(durations)}", 2.0 if steady else 1.0 if late else 0.0)
            if min(states) >= 2.0 or 1.0 in states:
                return tuple(durations), min(states) >= 2.0
            batch = max(1, len(durations) // 2)

    def windows_of(self, step_seconds: float) -> int:
        """Steps in a window, the same in every task: enough to fill it at the slowest task's step time."""
        slowest = max(self._agree("step time", step_seconds))
        return max(1, round(self._policy.window_seconds / max(slowest, 1e-9)))

    def measure(self, synchronous: bool) -> LoopResult:
        """Warm up, then time windows.

        Where replicas wait for each other all run the same number of steps. Where they do not, all run for the
        same time, so that none is alone at the end while others have stopped loading the machine.
        """
        warmup, steady = self.warm_up()
        settled = warmup[truncation_point(warmup) :]
        steps = self.windows_of(sorted(settled)[len(settled) // 2])
        self._losses.clear()
        self._enter("timed windows")
        self._agree("timed windows", 0.0)
        started = self._clock.now()
        duration = self._policy.windows * self._policy.window_seconds
        windows: list[Window] = []
        while len(windows) < self._policy.windows or (not synchronous and self._clock.now() - started < duration):
            windows.append(self.window(steps))
        return LoopResult(warmup, steady, tuple(windows), tuple(self._losses), self._steps)

    def window(self, steps: int) -> Window:
        """Run and time some steps, up to the moment at which the device has done them."""
        start = self._clock.now()
        self._step.run(steps)
        self._losses.append(self._step.wait())
        if self._slowdown and self._steps:  # not after the first step, most of which is compiling
            # At the end and not after each step: a wait there would also take away the overlap of host and device. By
            # the quickest step: one in which this task waited for another's sleep would lengthen its own sleep, and so
            # on for ever.
            self._quickest = min(self._quickest, (self._clock.now() - start) / steps)
            self._clock.sleep(self._slowdown * self._quickest * steps)
        self._steps += steps
        return Window(start, self._clock.now(), steps)
