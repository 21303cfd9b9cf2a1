"""What the plugin costs: throughput of a training step through the plugin's loop and in a bare one.

    python -m benchmarks.harness_overhead [--device cpu|gpu] [--milliseconds 1 3 10 30 100] [--rounds 200] [--turn 0.05]
                                          [--end-to-end 5] [--json FILE]

Three views, from the sharpest to the most whole:

1. An empty step. What the loop itself does, for a step and for a window, in microseconds: no training blurs it.
2. In one process, on one compiled step, the plugin's `Loop.window` and ``for _ in range(steps): step()`` with one wait
   at the end take turns. A round is four turns in the order ABBA, so that a drift of the machine
   cancels, and gives one logarithm of a ratio of times. Shown is their median with its distribution-free 95 % interval
   (order statistics of the sign test, `scipy.stats.quantile_test`): some turns that another program held up move
   neither. On a CPU the same is made of the processor time of the turns, which other programs on the core leave alone;
   the two loops wait at the same place, so that none of them can hide work in a wait. The overhead is established to be
   under 1 % where the whole interval is, of either.
3. End to end: the step's throughput in a run of the plugin (a process forked from its zygote, pinned, watched, warmed
   up until settled) over that in a script of its own process, which builds the same step and loops. Both start afresh
   for every pair. Its interval is as wide as fresh processes differ, which no bare loop avoids; it says whether
   anything large is hidden in what 2. leaves out.

The step is the multilayer perceptron under `single`, with the batch that takes about as long as asked. Needs this
repository, TensorFlow and SciPy. Exits with 1 where 2. does not establish the overhead at every length.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.clock import MonotonicClock
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.measurement.loop import Loop
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.run import TaskRun
from pytest_tfperf.records.task import Layout, TaskId, TaskPlacement
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.strategies.eager_step import EagerStep
from pytest_tfperf.workloads import registry as workloads

BAR = 0.01
HIDDEN: dict[Device, int] = {"cpu": 128, "gpu": 2048}
CONFIDENCE = 0.95
FEWEST = 6
"""Rounds from which on a sign test can give a 95 % interval."""


@dataclass(frozen=True)
class Ratio:
    """Time through the plugin over time without, as a fraction above 1; `rounds` values went into it."""

    overhead: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, logs: Sequence[float]) -> Ratio:
        """Median of logarithms of ratios, with its interval; an unbounded one for fewer rounds than can tell."""
        from scipy.stats import quantile_test

        low, high = -math.inf, math.inf
        if len(logs) >= FEWEST:
            interval = quantile_test(list(logs)).confidence_interval(CONFIDENCE)
            low, high = float(interval.low), float(interval.high)
        return cls(math.expm1(median(logs)), math.expm1(low), math.expm1(high) if high < 700 else math.inf, len(logs))

    def __str__(self) -> str:
        return f"{self.overhead:+8.3%} [{self.low:+.3%}, {self.high:+.3%}] ({self.rounds} rounds)"


@dataclass(frozen=True)
class Paired:
    """View 2 at one length."""

    batch_size: int
    milliseconds: float
    """Of a step in the bare loop; on a CPU of processor time."""
    ratio: Ratio
    """By the clock."""
    processor: Ratio | None
    """By processor time; None on a GPU, where the host mostly waits."""
    quartiles: tuple[float, float]
    """Of one round's overhead by the clock: the noise that the median has to cut through."""

    @property
    def verdict(self) -> str:
        """What is established of the bar."""
        for by, ratio in (("the clock", self.ratio), ("processor time", self.processor)):
            if ratio is not None and ratio.high < BAR:
                return f"under 1 % by {by}"
            if ratio is not None and ratio.low > BAR:
                return f"over 1 % by {by}"
        return "not decided"


def _loop(step: Any) -> Loop:
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
        return min(_seconds(work) for _ in range(repeats)) / times

    loop = _loop(EagerStep(nothing, 1, None, []))  # type: ignore[arg-type]  # no variables, so no updates
    step = quickest(lambda: loop.window(steps), steps) - quickest(bare, steps)

    def windows() -> None:
        for _ in range(1000):
            loop.window(1)

    return 1e6 * max(0.0, step), 1e6 * quickest(windows, 1000)


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    work()
    return clock() - started


def _params(device: Device, batch_size: int) -> dict[str, object]:
    given = {"batch_size": batch_size, "hidden": HIDDEN[device]}
    return dict(workloads.resolve_params(workloads.get("mlp"), given))


def _build(task: Any, device: Device, batch_size: int) -> Any:
    single = strategies.get("single")
    options = strategies.resolve_options(single, {})
    return single.build(task, workloads.get("mlp"), _params(device, batch_size), options, device, 1)


def _time_of_step(step: Any, seconds: float, device: Device) -> float:
    """Median over stretches of the seconds of a step, after the first ones have compiled it.

    On a CPU processor time: on the one core that the task has it is what the step takes where nothing else runs.
    """
    clock = time.process_time if device == "cpu" else time.perf_counter
    step.run(3)
    step.wait()
    one = max(1e-6, _seconds(lambda: (step.run(), step.wait()), clock))
    steps = max(1, round(seconds / 5 / one))

    def stretch() -> None:
        step.run(steps)
        step.wait()

    return median([_seconds(stretch, clock) / steps for _ in range(5)])


def calibrate(task: Any, device: Device, milliseconds: float) -> tuple[int, Any]:
    """The batch whose step takes about so long, and that step; the smallest batch where even that takes longer."""
    batch_size = 8
    for _ in range(6):
        step = _build(task, device, batch_size)
        taken = 1000 * _time_of_step(step, 0.5, device)
        better = max(1, round(batch_size * min(30.0, milliseconds / taken)))
        if 0.8 < milliseconds / taken < 1.25 or better == batch_size:
            break
        batch_size = better
    else:
        step = _build(task, device, batch_size)
    return batch_size, step


def paired(task: Any, device: Device, milliseconds: float, rounds: int, turn_seconds: float) -> Paired:
    """View 2, inside a task. A window of a run is longer than a turn, and has no more work of its own."""
    batch_size, step = calibrate(task, device, milliseconds)
    taken = _time_of_step(step, 1.0, device)
    steps = max(1, round(turn_seconds / taken))
    function = step._function
    loop = _loop(step)

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


def bare_script(device: Device, batch_size: int) -> float:
    """Steps a second of the same step in a plain loop, as long as a run of the plugin: warm up, then two seconds."""
    step = _build(_Alone(), device, batch_size)
    taken = _time_of_step(step, 2.0, device)
    policy = MeasurementPolicy()
    steps = max(1, round(policy.windows * policy.window_seconds / taken))
    function = step._function
    started = time.monotonic()
    for _ in range(steps):
        loss = function()
    float(loss)
    return steps / (time.monotonic() - started)


def end_to_end(
    launcher: ClusterLauncher, placed: Sequence[TaskPlacement], device: Device, batch_size: int, rounds: int
) -> Ratio:
    """View 3."""

    def plugin() -> float:
        job = Job(workloads.get("mlp"), _params(device, batch_size), "single", {}, device, 1, MeasurementPolicy())
        with launcher.start(placed) as cluster:
            run = cluster.run(measure, job)["worker:0"]
        assert isinstance(run, TaskRun)
        return sum(window.steps for window in run.windows) / (run.windows[-1].end - run.windows[0].start)

    def bare() -> float:
        (place,) = placed
        command = [sys.executable, "-m", "benchmarks.harness_overhead", "--device", device, "--bare", str(batch_size)]
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


def lines(found: Sequence[Paired], per_step: float, per_window: float) -> Iterator[str]:
    """The table of view 2, each row with what view 1 makes of it by arithmetic."""
    window = MeasurementPolicy().window_seconds
    yield f"{'step':>9}  {'batch':>7}  {'by arithmetic':>13}  plugin over bare: median and 95 % interval"
    for each in found:
        of_loop = per_step / (1000 * each.milliseconds) + per_window / (1e6 * max(window, each.milliseconds / 1000))
        noise = f"quartiles of a round {each.quartiles[0]:+.1%} to {each.quartiles[1]:+.1%}"
        by = f"clock {each.ratio}" + (f"; processor time {each.processor}" if each.processor else "")
        yield f"{each.milliseconds:6.2f} ms  {each.batch_size:7d}  {of_loop:13.4%}  {by}; {each.verdict}; {noise}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[1.0, 3.0, 10.0, 30.0, 100.0])
    parser.add_argument("--rounds", type=int, default=200, help="of four turns each, at every length (default 200)")
    parser.add_argument("--turn", type=float, default=0.05, help="seconds of a turn, a step at least (default 0.05)")
    parser.add_argument("--end-to-end", type=int, default=7, metavar="PAIRS", help="pairs of fresh processes; 0: none")
    parser.add_argument("--json", type=Path, help="write every figure there")
    parser.add_argument("--bare", type=int, metavar="BATCH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    device: Device = options.device
    if options.bare:
        print(bare_script(device, options.bare))
        return 0
    gpus = [gpu.identifier for gpu in visible_gpus()][:1] if device == "gpu" else []
    if device == "gpu" and not gpus:
        parser.error("no GPU is visible here")
    cores = sorted(os.sched_getaffinity(0))[-1:] if device == "cpu" else None
    placed = placements(Layout(workers=1), gpus=gpus, cores=cores)
    per_step, per_window = empty_step()
    print(f"an empty step: the loop adds {per_step:.3f} us to a step and {per_window:.2f} us to a window", flush=True)
    found: list[Paired] = []
    with ClusterLauncher() as launcher:
        launcher.wait_until_warm(600)
        for milliseconds in options.milliseconds:
            with launcher.start(placed) as cluster:
                found.append(
                    cluster.run(paired, device, milliseconds, options.rounds, options.turn, timeout=3600)["worker:0"]
                )
            print(list(lines(found, per_step, per_window))[-1], flush=True)
        shortest = found[0]
        whole = (
            end_to_end(launcher, placed, device, shortest.batch_size, options.end_to_end)
            if options.end_to_end
            else None
        )
    print("", *lines(found, per_step, per_window), sep="\n")
    if whole:
        print(f"end to end, fresh processes, {shortest.milliseconds:.2f} ms: {whole}")
    if options.json:
        figures = {
            "device": device,
            "loop_us_per_step": per_step,
            "loop_us_per_window": per_window,
            "paired": [asdict(each) for each in found],
            "end_to_end": asdict(whole) if whole else None,
        }
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if all(each.verdict.startswith("under") for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
