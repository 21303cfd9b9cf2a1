"""Where the time before the first timed step goes, with what XLA has compiled before and without it.

    python -m benchmarks.compile_cache resnet50 --strategy multi_worker_mirrored --replicas 4 --device gpu --rounds 3
    python -m benchmarks.compile_cache resnet50 --device cpu --param image_size=32 --param batch_size=2

Both ways take turns within a round, in fresh processes each. The first round with the cache finds it empty. A flag of
one's own wins, so TF_XLA_FLAGS=--tf_xla_persistent_cache_directory= leaves only the autotuning results to be used
again, and XLA_FLAGS=--xla_gpu_per_fusion_autotune_cache_dir= only the compiled
programs, as no flag of ours for the same is set beside it.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import median

from benchmarks.settings import settings
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.measurement.clock import MonotonicClock
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.plan import place
from pytest_tfperf.records.arm import Recipe, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads


def spec_of(options: argparse.Namespace) -> SweepSpec:
    strategy = strategies.get(options.strategy)
    recipe = Recipe(
        strategy.name,
        strategies.resolve_options(strategy, {}),
        workloads.resolve_params(workloads.get(options.workload), {"xla": True, **settings(options.param)}),
    )
    return SweepSpec("benchmark", options.workload, recipe, recipe, (options.replicas,), options.device)


def one_run(launcher: ClusterLauncher, spec: SweepSpec, *, cached: bool) -> tuple[Run, float]:
    """One run in fresh processes, and the seconds until all of them were gone."""
    clock, arm, recipe = MonotonicClock(), spec.arm(spec.replicas[0]), spec.recipe
    gpus = [gpu.identifier for gpu in visible_gpus()] if spec.device == "gpu" else []
    asked = clock.now()
    job = Job(
        workloads.get(spec.workload), recipe.workload_params, recipe.strategy, recipe.strategy_options, spec.device,
        arm.replicas, MeasurementPolicy(), asked=asked,
    )  # fmt: skip
    with launcher.start(place(spec, arm, gpus, sorted(os.sched_getaffinity(0))), compile_cache=cached) as cluster:
        results = cluster.run(measure, job, timeout=900)
    return aggregate(arm, 1, [task for task in results.values() if task is not None]), clock.now() - asked


def kept_in(folder: Path | None) -> str:
    """What XLA has written so far, by kind."""
    if folder is None:
        return "nothing"
    found: dict[str, list[int]] = {}
    for path in (folder / "compile-cache").rglob("*"):
        if path.is_file():
            found.setdefault(path.relative_to(folder / "compile-cache").parts[0], []).append(path.stat().st_size)
    return ", ".join(f"{len(sizes)} {kind} ({sum(sizes) / 1e6:.1f} MB)" for kind, sizes in sorted(found.items())) or "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--strategy", default="single")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    spec = spec_of(options)
    started: dict[bool, list[float]] = {True: [], False: []}
    with ClusterLauncher() as launcher:
        launcher.wait_until_warm()
        for number in range(1, options.rounds + 1):
            for cached in (True, False) if number % 2 else (False, True):
                run, seconds = one_run(launcher, spec, cached=cached)
                # The slowest task is the one that the others wait for.
                phases = max((task.phases for task in run.tasks), key=lambda each: sum(each.values()))
                started[cached].append(sum(phases.values()))
                split = "  ".join(f"{name} {value:.2f}" for name, value in phases.items())
                print(
                    f"round {number} {'with' if cached else 'without':7}  to the first timed step "
                    f"{started[cached][-1]:6.2f} s  whole run {seconds:6.2f} s  {run.throughput:9.1f} examples/s"
                    f" | {split}",
                    flush=True,
                )
            print(f"        kept: {kept_in(launcher.run_dir)}", flush=True)
    later = started[True][1:] or started[True]
    print(f"with, after the first round: {median(later):.2f} s; without: {median(started[False]):.2f} s (medians)")


if __name__ == "__main__":
    main()
