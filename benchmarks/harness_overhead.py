"""Throughput through the plugin's step and loop against the same training step in a bare loop, in one process.

    python benchmarks/harness_overhead.py [--rounds 20] [--batch-size 32]

The two take turns; each turn runs as many steps as fill a quarter of a second. A ratio of 1 is no overhead.
"""

from __future__ import annotations

import argparse
import time
from statistics import median, quantiles
from typing import Any

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.measurement.clock import MonotonicClock
from pytest_tfperf.measurement.loop import Loop
from pytest_tfperf.records.task import Layout
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads


def compare(task: Any, rounds: int, batch_size: int) -> list[float]:
    """Ratios of steps/s, plugin over bare, one a round."""
    import tensorflow as tf

    workload = workloads.get("smallconv")
    params = workloads.resolve_params(workload, {"batch_size": batch_size})
    single = strategies.get("single")
    step: Any = single.build(task, workload, params, strategies.resolve_options(single, {}), "cpu", 1)

    built = workload(**{key: value for key, value in params.items() if key != "xla"})
    features, labels = (tf.constant(part) for part in built.batch)
    variables = list(built.model.trainable_variables)
    slots = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

    def one_step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(built.loss(labels, built.model(features)))
        for variable, slot, gradient in zip(variables, slots, tape.gradient(loss, variables), strict=True):
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle, accum=slot.handle, lr=0.01, grad=gradient, momentum=0.9
            )
        return loss

    bare_step = tf.function(one_step)
    for _ in range(10):
        float(bare_step())
    started = time.monotonic()
    for _ in range(10):
        loss = bare_step()
    float(loss)
    steps = max(10, round(0.25 / ((time.monotonic() - started) / 10)))
    ratios = []
    policy = MeasurementPolicy(window_seconds=0.25, windows=1)
    loop = Loop(step, MonotonicClock(), policy, lambda point, value: [value])
    loop.warm_up()
    for number in range(rounds):
        speeds = {}
        for way in ("plugin", "bare") if number % 2 else ("bare", "plugin"):
            started = time.monotonic()
            if way == "plugin":
                loop.window(steps)
            else:
                for _ in range(steps):
                    loss = bare_step()
                float(loss)
            speeds[way] = steps / (time.monotonic() - started)
        ratios.append(speeds["plugin"] / speeds["bare"])
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--batch-size", type=int, nargs="+", default=[32, 2])
    options = parser.parse_args()
    with ClusterLauncher() as launcher:
        for batch_size in options.batch_size:
            with launcher.start(placements(Layout(workers=1), cores=[0])) as cluster:
                ratios = cluster.run(compare, options.rounds, batch_size)["worker:0"]
            low, _, high = quantiles(ratios, n=4)
            print(
                f"smallconv, batch {batch_size}: plugin / bare {median(ratios):.3f} "
                f"(quartiles {low:.3f} to {high:.3f}, {len(ratios)} rounds)",
                flush=True,
            )


if __name__ == "__main__":
    main()
