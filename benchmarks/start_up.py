"""Seconds from asking for a cluster to its first result: tasks forked from the zygote against fresh interpreters.

    python benchmarks/start_up.py [--rounds 5]

Both ways take turns within a round; the import that the zygote makes once is shown by itself.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.records.task import Layout


def first_operation(task: Any) -> float:
    """What a task does first: one operation on its device."""
    import tensorflow as tf

    return float(tf.reduce_sum(tf.ones([2, 2])))


def seconds(launcher: ClusterLauncher, tasks: int) -> float:
    started = time.monotonic()
    with launcher.start(placements(Layout(workers=tasks))) as cluster:
        cluster.run(first_operation)
        return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    with ClusterLauncher(launcher="zygote") as zygote, ClusterLauncher(launcher="spawn") as spawn:
        zygote.wait_until_warm()
        print(f"the zygote's import: {zygote.import_seconds:.1f} s, once a session")
        print("tasks   zygote s    spawn s   spawn / zygote   (medians of", options.rounds, "rounds)")
        for tasks in options.tasks:
            pairs = [(seconds(zygote, tasks), seconds(spawn, tasks)) for _ in range(options.rounds)]
            forked, spawned = (median(column) for column in zip(*pairs, strict=True))
            ratio = median(b / a for a, b in pairs)
            print(f"{tasks:5d} {forked:10.2f} {spawned:10.2f} {ratio:16.1f}", flush=True)


if __name__ == "__main__":
    main()
