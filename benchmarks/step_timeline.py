"""What a GPU does in a step, under several strategies side by side: computes, reduces, or waits, and for how long.

    python -m benchmarks.step_timeline single mirrored:collective=compiled multi_worker_mirrored:steps_per_call=8
        [--workload resnet50] [--replicas 2] [--params batch_size=64 ...] [--steps 16] [--seconds 2] [--keep DIR]

Every arm runs in fresh processes, is timed first without a profiler, and then records some steps with TensorFlow's
own (`tf.profiler.experimental`, which needs CUPTI for GPUs) in its first task. From the kernels in the record, for each
of the task's GPUs and a step:

    compute    some kernel other than NCCL's runs
    exposed    only NCCL's runs: an all-reduce that nothing hides, the wait for the slowest replica included
    idle       nothing runs: the host has not started what comes next
    launches   kernels, copies and fills

and where most of the idle time lies, by the kernels before and after, so that one sees what the GPU waited for. Against
the first arm: kernels whose time differs most. `--keep` keeps the records, to be opened in TensorBoard's profiler.
XLA_FLAGS from outside are taken, so that an option of XLA's can be tried.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.settings import settings
from benchmarks.timeline import read, timeline
from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.records.task import TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

KERNELS = 6
GAPS = 5


def record(task: Any, arm: str, job: dict[str, Any]) -> Any:
    """In a task: seconds of a step without the profiler, and in the first task each GPU's timeline of `steps` steps."""
    name, given = parse(arm)
    strategy = strategies.get(name)
    options = strategies.resolve_options(strategy, given)
    step = strategy.build(task, workloads.get(job["workload"]), job["params"], options, job["device"], job["replicas"])
    if step is None:
        return None
    import tensorflow as tf

    peers = [TaskId(task.id.type, index) for index in range(len(task.cluster[task.id.type]))]

    numbers = count()

    def run(steps: int) -> float:
        """Seconds of a step, from a moment at which all ranks are ready."""
        calls = max(1, round(steps / step.steps_per_call))
        if len(peers) > 1:
            task.exchange(f"run {next(numbers)}", None, peers)
        began = time.monotonic()
        step.run(calls)
        step.wait()
        return (time.monotonic() - began) / (calls * step.steps_per_call)

    step.trace()
    for _ in range(3):
        pace = run(step.steps_per_call)
    if len(peers) > 1:
        pace = max(task.exchange("pace", pace, peers).values())
    steps = max(job["steps"], round(job["seconds"] / pace))
    seconds = [run(steps) for _ in range(3)]
    found = {}
    if task.id == peers[0]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = job["keep"] or scratch
            host = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
            tf.profiler.experimental.start(folder, host)
            run(job["steps"])
            tf.profiler.experimental.stop()
            found = {gpu: timeline(events) for gpu, events in read(Path(folder)).items()}
    else:
        run(job["steps"])
    counted = max(1, round(job["steps"] / step.steps_per_call)) * step.steps_per_call
    return {"seconds": sorted(seconds)[1], "examples": step.examples_per_step, "gpus": found, "steps": counted}


def parse(arm: str) -> tuple[str, dict[str, object]]:
    """``name:option=value,option=value``; raises UsageError where it is something else."""
    name, _, rest = arm.partition(":")
    return name, settings(filter(None, rest.split(",")))


def show(arm: str, tasks: list[Any], first: dict[str, float] | None) -> dict[str, float]:
    """Print an arm's figures; gives its milliseconds of a step by kernel, on its first GPU."""
    rate = sum(task["examples"] / task["seconds"] for task in tasks)
    print(f"\n{arm}: {1e3 * max(task['seconds'] for task in tasks):.2f} ms a step, {rate:.0f} examples/s", flush=True)
    kernels: dict[str, float] = {}
    steps = tasks[0]["steps"]
    if not tasks[0]["gpus"]:
        print("  no GPU is in the record")
        return kernels
    for gpu, found in sorted(tasks[0]["gpus"].items(), reverse=True):
        each = {name: 1e3 * getattr(found, name) / steps for name in ("span", "compute", "exposed", "idle")}
        print(
            f"  GPU {gpu}: {found.launches / steps:.0f} launches; "
            + ", ".join(f"{k} {v:.2f} ms" for k, v in each.items())
        )
        for (before, after), (seconds, number) in sorted(found.gaps.items(), key=lambda gap: -gap[1][0])[:GAPS]:
            idle = f"{1e3 * seconds / steps:.2f} ms a step in {number / steps:.1f} stretches"
            print(f"    idle {idle} between {before[:60]} and {after[:60]}")
        kernels = {name: 1e3 * seconds / steps for name, seconds in found.kernels.items()}
    if first is None:
        ranked = sorted(kernels, key=lambda name: -kernels[name])
        print(*(f"    {kernels[name]:6.2f} ms of {name[:90]}" for name in ranked[:KERNELS]), sep="\n", flush=True)
    else:
        change = {name: kernels.get(name, 0.0) - first.get(name, 0.0) for name in {*kernels, *first}}
        ranked = sorted(change, key=lambda name: -abs(change[name]))
        print(*(f"    {change[name]:+6.2f} ms of {name[:90]}" for name in ranked[:KERNELS]), sep="\n", flush=True)
    return kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", nargs="+", metavar="STRATEGY[:OPTION=VALUE,...]")
    parser.add_argument("--workload", default="resnet50")
    parser.add_argument("--replicas", type=int, default=2, help="of every arm but those of the strategy single")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu")
    parser.add_argument("--params", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--steps", type=int, default=16, help="that are recorded")
    parser.add_argument("--seconds", type=float, default=2.0, help="of the window that is timed without a profiler")
    parser.add_argument("--keep", type=Path, help="folder for the records")
    options = parser.parse_args()
    params = workloads.resolve_params(workloads.get(options.workload), settings(options.params))
    first = None
    with ClusterLauncher() as launcher:
        for number, arm in enumerate(options.arms):
            name, chosen = parse(arm)
            strategy = strategies.get(name)
            replicas = 1 if name == "single" else options.replicas
            job = {
                "workload": options.workload, "params": params, "device": options.device, "replicas": replicas,
                "steps": options.steps, "seconds": options.seconds,
                "keep": options.keep and str((options.keep / f"{number}-{name}").absolute()),
            }  # fmt: skip
            layout = strategy.layout(replicas, strategies.resolve_options(strategy, chosen))
            gpus = [gpu.identifier for gpu in visible_gpus()] if options.device == "gpu" else []
            with launcher.start(placements(layout, gpus=gpus), compile_cache=True) as cluster:
                results = cluster.run(record, arm, job, timeout=300)
            kernels = show(arm, [found for found in results.values() if found], first)
            first = first or kernels


if __name__ == "__main__":
    main()
