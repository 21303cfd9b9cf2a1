"""The step that both loops run: made, timed, and as long as asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from pytest_tfperf.records.arm import Device
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

HIDDEN: dict[Device, int] = {"cpu": 128, "gpu": 2048}
Given = Mapping[str, object]
"""Parameters of the perceptron that were set."""


def params_of(device: Device, batch_size: int, given: Given) -> dict[str, object]:
    chosen = {"hidden": HIDDEN[device], **given, "batch_size": batch_size}
    return dict(workloads.resolve_params(workloads.get("mlp"), chosen))


def build(task: Any, device: Device, batch_size: int, given: Given) -> Any:
    single = strategies.get("single")
    options = strategies.resolve_options(single, {})
    return single.build(task, workloads.get("mlp"), params_of(device, batch_size, given), options, device, 1)


def seconds_of(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    work()
    return clock() - started


def time_of_step(step: Any, seconds: float, device: Device) -> float:
    """Median over stretches of the seconds of a step, after the first ones have compiled it.

    On a CPU processor time: on the one core that the task has it is what the step takes where nothing else runs.
    """
    clock = time.process_time if device == "cpu" else time.perf_counter
    step.run(3)
    step.wait()
    one = max(1e-6, seconds_of(lambda: (step.run(), step.wait()), clock))
    steps = max(1, round(seconds / 5 / one))

    def stretch() -> None:
        step.run(steps)
        step.wait()

    return median([seconds_of(stretch, clock) / steps for _ in range(5)])


def calibrate(task: Any, device: Device, milliseconds: float, given: Given) -> tuple[int, Any]:
    """The batch whose step takes about so long, and that step; the smallest batch where even that takes longer."""
    tried: list[tuple[int, float]] = []
    batch_size = 8
    for _ in range(12):
        step = build(task, device, batch_size, given)
        tried.append((batch_size, 1000 * time_of_step(step, 0.5, device)))
        better = next_batch(tried, milliseconds)
        if 0.8 < milliseconds / tried[-1][1] < 1.25 or better == batch_size:
            break
        batch_size = better
    else:
        step = build(task, device, batch_size, given)
    return batch_size, step


def next_batch(tried: Sequence[tuple[int, float]], milliseconds: float) -> int:
    """The batch to try next, of batches and the milliseconds that a step of each took, in the order they were tried.

    A step takes something for itself and something for each example: the line through the last two. A batch of little
    work tells little of a larger one, so that the next has at most 30 times as many examples, and at least a 30th.
    Where more examples took no longer it has 30 times as many at once, since each try has to be compiled.
    """
    batch, taken = tried[-1]
    before, then = tried[-2] if len(tried) > 1 else (0, 0.0)
    an_example = (taken - then) / (batch - before)
    if an_example > 0:
        better = batch + (milliseconds - taken) / an_example
    else:
        better = float("inf") if taken < milliseconds else 0.0
    return max(1, round(min(max(better, batch / 30), batch * 30)))
