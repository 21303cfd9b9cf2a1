"""Collect the pool of real runs that gates are drawn from: fresh processes, identical code and a 10 % slowdown.

    python benchmarks/verdicts/collect.py --hours 3 [--pause 15] [--out benchmarks/verdicts/data/pool.jsonl.gz]

A block is a run of T(1) and one of T(2), as a round of a gate is; two blocks of identical code are followed by one
whose steps take 10 % longer in both arms. Every step is a window of its own, so that peers that look at single steps
can be given them. A line of the file is one run. Runs are appended, so the collection may be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.plan import place
from pytest_tfperf.records.arm import Arm, Recipe, SweepSpec
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

STEPS = 80
SLOWDOWN = 0.10
WORKLOAD = "smallconv"
DEFAULT_OUT = Path(__file__).parent / "data" / "pool.jsonl.gz"


def spec(batch_size: int) -> SweepSpec:
    params = dict(workloads.resolve_params(workloads.get(WORKLOAD), {"batch_size": batch_size}))
    own, alone = (strategies.get(name) for name in ("multi_worker_mirrored", "single"))
    return SweepSpec(
        test="pool",
        workload=WORKLOAD,
        recipe=Recipe(own.name, strategies.resolve_options(own, {}), params),
        reference=Recipe(alone.name, strategies.resolve_options(alone, {}), params),
        replicas=(2,),
        device="cpu",
    )


def one_run(launcher: ClusterLauncher, spec: SweepSpec, arm: Arm, slowdown: float) -> dict[str, object]:
    """Measure one run in fresh processes; seconds and examples/s."""
    recipe = spec.recipe_of(arm)
    policy = MeasurementPolicy(window_seconds=1e-6, windows=STEPS)
    job = Job(
        workloads.get(WORKLOAD), recipe.workload_params, recipe.strategy, recipe.strategy_options, "cpu",
        arm.replicas, policy, slowdown,
    )  # fmt: skip
    busy, began = busy_seconds(), time.time()
    with launcher.start(place(spec, arm, [], sorted(os.sched_getaffinity(0)))) as cluster:
        results = cluster.run(measure, job, timeout=120)
    run = aggregate(arm, 1, [task for task in results.values() if task is not None])
    spent = {key: round(value - busy[key], 2) for key, value in busy_seconds().items()}
    return {
        "at": round(began, 1),
        "arm": arm.label,
        "slowdown": slowdown,
        "throughput": round(run.throughput, 3),
        "steps": [float(f"{window.seconds:.4g}") for window in run.tasks[0].windows],
        "seconds": round(time.time() - began, 2),
        "machine_seconds": spent,
    }


def busy_seconds() -> Mapping[str, float]:
    """Processor seconds of the whole machine by kind since it started (proc(5), /proc/stat)."""
    fields = [
        int(word) / os.sysconf("SC_CLK_TCK") for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    ]
    return {"user": fields[0], "nice": fields[1], "system": fields[2], "idle": fields[3], "steal": fields[7]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--pause", type=float, default=15.0, help="seconds to leave the machine alone between blocks")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    sweep = spec(options.batch_size)
    arms = [sweep.reference_arm, sweep.arm(2)]
    end, block = time.monotonic() + 3600 * options.hours, 0
    with ClusterLauncher() as launcher:
        while time.monotonic() < end:
            block += 1
            slowdown = SLOWDOWN if block % 3 == 0 else 0.0
            lines = []
            for arm in arms if block % 2 else reversed(arms):
                lines.append(json.dumps({"block": block, **one_run(launcher, sweep, arm, slowdown)}))
            with gzip.open(options.out, "at") as file:
                file.writelines(line + "\n" for line in lines)
            if block % 20 == 0:
                print(f"{2 * block} runs", flush=True)
            time.sleep(options.pause)


if __name__ == "__main__":
    main()
