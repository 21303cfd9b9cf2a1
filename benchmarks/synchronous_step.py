"""Where the time of a synchronous step goes: the same ranks run it with and without each of its parts, in turns.

    python -m benchmarks.synchronous_step [--workload resnet50] [--replicas 4] [--device gpu] [--rounds 3]
        [--window 2] [--params batch_size=64 ...] [--unpacked] [--arms all-reduce update ...]

One process a replica, as in `multi_worker_mirrored`. All arms run in the same processes and share their compiled
functions, so that what differs between two arms is the part that one of them lacks.

    gradients    forward and backward pass
    update       and the update by its own gradients, nothing exchanged
    one function the same, gradients and update compiled as one: nothing can be exchanged between them
    all-reduce   and the all-reduce between them: the strategy's step
    dispatch     the same, called asynchronously, so that Python can call the next step before this one is done
    unrolled     the same, four steps in one function call
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.settings import settings
from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.records.task import Layout, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

UNROLLED = 4
ARMS = ("gradients", "update", "one function", "all-reduce", "dispatch", "unrolled")


def measure(task: Any, name: str, params: dict[str, Any], device: Any, options: argparse.Namespace) -> Any:
    """Seconds of a step for each arm and round, in one task."""
    from pytest_tfperf.strategies.devices import claim_device
    from pytest_tfperf.strategies.eager_step import gradient_function, update_function
    from pytest_tfperf.strategies.multi_worker_mirrored import _communication, _strategy
    from pytest_tfperf.strategies.optimizers import FusedUpdates
    from pytest_tfperf.workloads.building import build, recipe

    peers = [TaskId(task.id.type, index) for index in range(options.replicas)]
    where = claim_device(task, device)
    import tensorflow as tf

    definition = workloads.get(name)
    communication = _communication("auto", device)
    strategy = _strategy(task, communication, device)
    make = recipe(definition, params)
    with strategy.scope():
        built = build(make(), where)
    local = [strategy.experimental_local_results(variable)[0] for variable in built.variables]
    updates = FusedUpdates(definition.optimizer, local, where)
    xla = bool(params["xla"])
    gradients = gradient_function(built, xla=xla, pack=options.pack)
    update = update_function(
        updates, local, xla=xla, packed=options.pack, divisor=built.loss_scale * strategy.num_replicas_in_sync
    )

    def replica(*, apply: bool, reduce: bool) -> Any:
        loss, found = gradients(*built.batches.next())
        if reduce:
            context = tf.distribute.get_replica_context()
            found = context.all_reduce(tf.distribute.ReduceOp.SUM, found, options=communication)
        if apply:
            update(found)
            return loss
        return loss, found[0]  # without a use of the gradients TensorFlow would leave out the backward pass

    def both(features: Any, labels: Any) -> Any:
        loss, found = gradients(features, labels)
        update(found)
        return loss

    compiled = tf.function(both, jit_compile=True if xla else None, autograph=False)

    def calling(step: Callable[[], Any], steps: int = 1) -> Any:
        def call() -> Any:
            for _ in range(steps):
                result = strategy.run(step)
            return result

        return tf.function(call, autograph=False)

    def made(*, apply: bool, reduce: bool, steps: int = 1) -> Any:
        return calling(lambda: replica(apply=apply, reduce=reduce), steps)

    whole = made(apply=True, reduce=True)
    arms = {
        "gradients": (made(apply=False, reduce=False), 1, False),
        "update": (made(apply=True, reduce=False), 1, False),
        "one function": (calling(lambda: compiled(*built.batches.next())), 1, False),
        "all-reduce": (whole, 1, False),
        "dispatch": (whole, 1, True),
        "unrolled": (made(apply=True, reduce=True, steps=UNROLLED), UNROLLED, False),
    }
    wanted = {arm: arms[arm] for arm in options.arms}

    def window(arm: str, steps: int) -> float:
        function, each, asynchronous = wanted[arm]
        tf.config.experimental.set_synchronous_execution(not asynchronous)
        calls = max(1, round(steps / each))
        start = time.monotonic()
        for _ in range(calls):
            result = function()
        float(tf.reshape(tf.nest.flatten(result)[0], [-1])[0])
        seconds = (time.monotonic() - start) / (calls * each)
        tf.config.experimental.set_synchronous_execution(True)
        return seconds

    counts = {}
    for arm in wanted:
        window(arm, 1)
        task.exchange(f"first {arm}", None, peers)
        window(arm, 8)
        slowest = max(task.exchange(f"pace {arm}", window(arm, 8), peers).values())
        counts[arm] = max(4, round(options.window / slowest))
    found: dict[str, list[float]] = {arm: [] for arm in wanted}
    for round_number in range(options.rounds):
        for arm in wanted if round_number % 2 == 0 else reversed(list(wanted)):
            task.exchange(f"round {round_number} {arm}", None, peers)
            found[arm].append(window(arm, counts[arm]))
    return found, built.batches.examples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="resnet50")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window", type=float, default=2.0, help="seconds")
    parser.add_argument("--params", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--unpacked", dest="pack", action="store_false", help="a gradient for each variable, as `single`"
    )
    parser.add_argument("--arms", nargs="*", choices=ARMS, default=list(ARMS))
    options = parser.parse_args()
    definition = workloads.get(options.workload)
    params = workloads.resolve_params(definition, settings(options.params))
    strategies.get("multi_worker_mirrored")
    gpus = [gpu.identifier for gpu in visible_gpus()][: options.replicas] if options.device == "gpu" else []
    layout = placements(Layout(workers=options.replicas), gpus=gpus)
    with ClusterLauncher() as launcher, launcher.start(layout) as cluster:
        results = cluster.run(measure, options.workload, params, options.device, options, timeout=540)
    ranks = list(results.values())
    examples = ranks[0][1]
    print(f"\n{options.workload}, {options.replicas} replicas on {options.device}, medians of {options.rounds} rounds")
    print(f"{'arm':12} {'ms a step':>10} {'examples/s':>12} {'slowest rank / mean':>20}")
    for arm in options.arms:
        by_rank = [median(rank[0][arm]) for rank in ranks]
        mean = sum(by_rank) / len(by_rank)
        rate = sum(examples / seconds for seconds in by_rank)
        print(f"{arm:12} {1e3 * mean:10.2f} {rate:12.0f} {max(by_rank) / mean:20.3f}")


if __name__ == "__main__":
    main()
