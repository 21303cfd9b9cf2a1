"""Synchronous parameter servers: `tf.compat.v1.train.SyncReplicasOptimizer` (Chen et al. 2016, arXiv:1604.00981).

Every worker pushes its gradients into accumulators on the servers and then waits for a token. When there are as many
gradients as workers, a thread of worker 0 applies their mean, increments `global_step` and puts out a token for each
worker. There are no backup workers.

So a worker's step ends after the update that its gradient is part of, and `global_step` is the number of each worker's
own steps: that is what the measurement checks. The optimizer itself only promises that an update is made of as many
gradients as there are workers: a worker that took two tokens of one update would run a step ahead of another. The
count would be the same, and it needs a whole step that is faster than another worker's waiting request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tfperf.strategies.between_graph import BetweenGraph, Training


class PsSync(BetweenGraph):
    """Every worker has to run the same number of steps, or the last ones wait for ever."""

    name = "ps_sync"
    synchronous = True
    updates_are_global = False

    def training(
        self, optimizer: Any, pairs: Sequence[tuple[Any, Any]], global_step: Any, workers: int, *, chief: bool
    ) -> Training:
        import tensorflow as tf

        synced = tf.compat.v1.train.SyncReplicasOptimizer(
            optimizer, replicas_to_aggregate=workers, total_num_replicas=workers
        )
        train = synced.apply_gradients(pairs, global_step=global_step)
        # The optimizer's own hook would put `workers` tokens out before the first step, with which all of them would
        # compute a second gradient before any update: here a first step ends with the first update.
        return Training(
            train,
            local_initializers=[synced.chief_init_op if chief else synced.local_step_init_op],
            ready_for_local=synced.ready_for_local_init_op,
            queue_runners=[synced.get_chief_queue_runner()] if chief else [],
        )
