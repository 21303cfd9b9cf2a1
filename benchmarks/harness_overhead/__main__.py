"""What the plugin costs: throughput of a training step through the plugin's loop and in a bare one.

    python -m benchmarks.harness_overhead [--device cpu|gpu] [--milliseconds 1 3 10 30 100] [--rounds 200] [--turn 0.05]
                                          [--end-to-end 5] [--set NAME=VALUE] [--json FILE]

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

The step is the multilayer perceptron under `single`, with the batch that takes about as long as asked; `--set` changes
its other parameters. On a GPU a short step is one of two kinds: of many small kernels, which the host must start, or
compiled and of a large batch (`--set xla=true --set hidden=1024`), where the host waits for the GPU. Needs this
repository, TensorFlow and SciPy. Exits with 1 where 2. does not establish the overhead at every length.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness_overhead.ratio import Paired, lines
from benchmarks.harness_overhead.steps import params_of
from benchmarks.harness_overhead.views import bare_script, empty_step, end_to_end, paired
from benchmarks.settings import settings
from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.errors import UsageError
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.task import Layout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[1.0, 3.0, 10.0, 30.0, 100.0])
    parser.add_argument("--rounds", type=int, default=200, help="of four turns each, at every length (default 200)")
    parser.add_argument("--turn", type=float, default=0.05, help="seconds of a turn, a step at least (default 0.05)")
    parser.add_argument("--end-to-end", type=int, default=7, metavar="PAIRS", help="pairs of fresh processes; 0: none")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the perceptron"
    )
    parser.add_argument("--json", type=Path, help="write every figure there")
    parser.add_argument("--bare", type=int, metavar="BATCH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    device: Device = options.device
    try:
        given = settings(options.set)
        if "batch_size" in given:
            raise UsageError("the batch is found for each length, so it cannot be set.")
        params_of(device, 1, given)
    except UsageError as error:
        parser.error(str(error))
    if options.bare:
        print(bare_script(device, options.bare, given))
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
                asked = device, milliseconds, options.rounds, options.turn, given
                found.append(cluster.run(paired, *asked, timeout=3600)["worker:0"])
            print(list(lines(found, per_step, per_window))[-1], flush=True)
        shortest = found[0]
        whole = (
            end_to_end(launcher, placed, device, shortest.batch_size, options.end_to_end, given)
            if options.end_to_end
            else None
        )
    print("", *lines(found, per_step, per_window), sep="\n")
    if whole:
        print(f"end to end, fresh processes, {shortest.milliseconds:.2f} ms: {whole}")
    if options.json:
        figures = {
            "device": device,
            "set": given,
            "loop_us_per_step": per_step,
            "loop_us_per_window": per_window,
            "paired": [asdict(each) for each in found],
            "end_to_end": asdict(whole) if whole else None,
        }
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if all(each.verdict.startswith("under") for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
