"""A workload whose step takes as long on a busy machine as on a quiet one, for tests that a verdict must come out of.

What a step computes takes no time to speak of; then it waits, as for a device that needs 20 ms. How long a program of
two cores computes is up to what else runs there, and a slowdown of ten times can stay undecided in that: the verdicts
are right, but a test of what a verdict says cannot wait for a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_tfperf import workload

SECONDS = 0.02


@workload("steady")
def steady(batch_size: int = 8, width: int = 4, seconds: float = SECONDS) -> object:
    return stepping(lambda: time.sleep(seconds), batch_size, width)


def stepping(wait: Callable[[], None], batch_size: int = 8, width: int = 4) -> object:
    """A model that calls `wait` in every step."""
    import tensorflow as tf

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.weights = tf.Variable(tf.ones([width, 1]))

        def __call__(self, x: object) -> object:
            tf.py_function(wait, [], [])
            return x @ self.weights

    inputs = tf.ones([batch_size, width]), tf.ones([batch_size, 1])
    return Model(), lambda y, out: tf.reduce_mean((y - out) ** 2), inputs
