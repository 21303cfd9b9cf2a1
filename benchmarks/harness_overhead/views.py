"""The three views: an empty step, two loops in one process, and two processes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from benchmarks.harness_overhead.ratio import Paired, Ratio
from benchmarks.harness_overhead.steps import Given, build, calibrate, params_of, seconds_of, time_of_step
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.clock import MonotonicClock
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.measurement.loop import Loop
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.run import TaskRun
from pytest_tfperf.records.task import TaskId, TaskPlacement
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.strategies.eager_step import EagerStep
from pytest_tfperf.workloads import registry as workloads


def loop_of(step: Any) -> Loop:
    return Loop(step, MonotonicClock(), MeasurementPolicy(), lambda point, value: [value])


def empty_step(steps: int = 20_000, repeats: int = 15) -> tuple[float, float]:
    """Microseconds that the loop adds to a step, and to a window; the quickest of some repeats, as noise only adds."""

    def nothing() -> float:
        return 0.0

    def bare() -> None:
        for _ in range(steps):
            loss = nothing()
        float(loss)

    def quickest(work: Callable[[], object], times: int) -> float:
        return min(seconds_of(work) for _ in range(repeats)) / times

    loop = loop_of(EagerStep(nothing, 1, None, []))  # type: ignore[arg-type]  # no variables, so no updates
    step = quickest(lambda: loop.window(steps), steps) - quickest(bare, steps)

    def windows() -> None:
        for _ in range(1000):
            loop.window(1)

    return 1e6 * max(0.0, step), 1e6 * quickest(windows, 1000)


def paired(task: Any, device: Device, milliseconds: float, rounds: int, turn_seconds: float, given: Given) -> Paired:
    """View 2, inside a task. A window of a run is longer than a turn, and has no more work of its own."""
    batch_size, step = calibrate(task, device, milliseconds, given)
    taken = time_of_step(step, 1.0, device)
    steps = max(1, round(turn_seconds / taken))
    function = step._function
    loop = loop_of(step)

    def plugin() -> None:
        loop.window(steps)

    def bare() -> None:
        for _ in range(steps):
            loss = function()
        float(loss)

    plugin()
    bare()
    clocks = (time.perf_counter, time.process_time)
    rounds_of: tuple[list[float], list[float]] = ([], [])
    """Logarithms of a round's ratio, by each clock."""
    without = []
    for number in range(rounds):
        order = (plugin, bare, bare, plugin) if number % 2 else (bare, plugin, plugin, bare)
        sums = [0.0, 0.0]
        for turn in order:
            before = [clock() for clock in clocks]
            turn()
            spent = [clock() - began for clock, began in zip(clocks, before, strict=True)]
            sums = [
                total + math.log(max(seconds, 1e-9)) * (1 if turn is plugin else -1)
                for total, seconds in zip(sums, spent, strict=True)
            ]
            if turn is bare:
                without.append(spent[device == "cpu"] / steps)
        for logs, total in zip(rounds_of, sums, strict=True):
            logs.append(total / 2)
    ordered = sorted(rounds_of[0])
    quartiles = math.expm1(ordered[rounds // 4]), math.expm1(ordered[-1 - rounds // 4])
    processor = Ratio.of(rounds_of[1]) if device == "cpu" else None
    return Paired(batch_size, 1000 * median(without), Ratio.of(rounds_of[0]), processor, quartiles)


class _Alone:
    """The task that a bare script is: what `single` asks of one when it builds its step."""

    id = TaskId("worker", 0)
    gpus: tuple[str, ...] = ()

    def phase(self, name: str) -> None:
        pass


def bare_script(device: Device, batch_size: int, given: Given) -> float:
    """Steps a second of the same step in a plain loop, as long as a run of the plugin: warm up, then two seconds."""
    step = build(_Alone(), device, batch_size, given)
    taken = time_of_step(step, 2.0, device)
    policy = MeasurementPolicy()
    steps = max(1, round(policy.windows * policy.window_seconds / taken))
    function = step._function
    started = time.monotonic()
    for _ in range(steps):
        loss = function()
    float(loss)
    return steps / (time.monotonic() - started)


def end_to_end(
    launcher: ClusterLauncher,
    placed: Sequence[TaskPlacement],
    device: Device,
    batch_size: int,
    rounds: int,
    given: Given,
) -> Ratio:
    """View 3."""

    def plugin() -> float:
        options = strategies.get("single").options
        params = params_of(device, batch_size, given)
        job = Job(workloads.get("mlp"), params, "single", options, device, 1, MeasurementPolicy())
        with launcher.start(placed) as cluster:
            run = cluster.run(measure, job)["worker:0"]
        assert isinstance(run, TaskRun)
        return sum(window.steps for window in run.windows) / (run.windows[-1].end - run.windows[0].start)

    def bare() -> float:
        (place,) = placed
        command = [sys.executable, "-m", "benchmarks.harness_overhead", "--device", device, "--bare", str(batch_size)]
        command += [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        if place.cores is not None:
            command = ["taskset", "-c", ",".join(map(str, place.cores)), *command]
        environ = {**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(place.gpus) or "-1"}
        done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
        return float(done.stdout.split()[-1])

    logs = []
    for number in range(rounds):
        speed = {way: way() for way in ((plugin, bare) if number % 2 else (bare, plugin))}
        logs.append(math.log(speed[bare] / speed[plugin]))
    return Ratio.of(logs)
