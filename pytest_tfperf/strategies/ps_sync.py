"""Synchronous parameter servers: `tf.compat.v1.train.SyncReplicasOptimizer` (Chen et al. 2016, arXiv:1604.00981).

Every worker pushes its gradients into accumulators on the servers and then waits for a token. When there are as many
gradients as workers, a thread of worker 0 applies their mean, increments `global_step` and puts out a token for each
worker. There are no backup workers.

So a worker's step ends after the update that its gradient is part of, and `global_step` is the number of each worker's
own steps: that is what the measurement checks. The optimizer itself only promises that an update is made of as many
gradients as there are workers. A worker whose whole step is faster than another's request for its token takes that
token too, and is a step ahead from then on; where all run the same number of steps, the other then waits for ever in
its last, for a gradient that nobody computes. `Tokens` sees to it that nobody keeps another worker's token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        tokens = Tokens(train, global_step)
        # The optimizer's own hook would put `workers` tokens out before the first step, with which all of them would
        # compute a second gradient before any update: here a first step ends with the first update.
        return Training(
            train,
            local_initializers=[synced.chief_init_op if chief else synced.local_step_init_op],
            ready_for_local=synced.ready_for_local_init_op,
            queue_runners=[synced.get_chief_queue_runner()] if chief else [],
            also_fetch=[tokens.taken],
            after_step=tokens.settle,
        )


class Tokens:
    """A worker's tokens, each the value of `global_step` after the update that it stands for: 1, 2, 3, ..."""

    def __init__(self, train: Any, global_step: Any) -> None:
        """Add to the graph what `settle` needs; `train`, the optimizer's operation of a step, gives the token."""
        import tensorflow as tf

        self.taken = tf.convert_to_tensor(train)
        (local_step,) = (v for v in tf.compat.v1.local_variables() if v.op.name.endswith("sync_rep_local_step"))
        with tf.device(global_step.device), tf.name_scope("tokens"):
            # By its shared name the very queue of the optimizer.
            queue = tf.queue.FIFOQueue(-1, [self.taken.dtype], shapes=[()], shared_name="sync_token_q")
            self._returned = tf.compat.v1.placeholder(self.taken.dtype, [])
            self._give_back = queue.enqueue(self._returned)
            token = queue.dequeue()
        self._take_another = tf.convert_to_tensor(local_step.assign(token))
        self._last = 0

    def settle(self, run: Callable[..., Any], fetched: Sequence[Any]) -> None:
        """Exchange a token of the update before, which is another worker's, for this worker's own.

        The queue serves those that already wait first, so each return lets the other worker go on. `fetched` is the
        value of `taken` in the step that has just ended; `run` is the session's.
        """
        (token,) = fetched
        while token <= self._last:
            run(self._give_back, feed_dict={self._returned: token})
            token = run(self._take_another)
        self._last = token
