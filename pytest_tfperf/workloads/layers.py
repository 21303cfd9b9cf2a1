"""Layers of the built-in models: plain `tf.nn` ops on plain `tf.Variable`s.

They build unchanged eagerly, inside `tf.function` and XLA, under a `tf.distribute` strategy's scope, and in a
`tf.Graph` under `tf.compat.v1.train.replica_device_setter`. Images are NHWC. Nothing here is a `tf.Module`, since
a subclass would need TensorFlow when the file is imported; a model needs to be callable and list its variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Layer = Callable[[Any], Any]


def run_with_step(update: Any) -> None:
    """Make an old-style graph run `update`, the result of an assign, with every training step.

    Eagerly and inside a `tf.function` the assign runs where it stands and nothing is to be done.
    """
    import tensorflow as tf

    if not tf.executing_eagerly() and not tf.inside_function():
        tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.UPDATE_OPS, update)


def state_variable(initial: Any, name: str, *, averaged: bool = True) -> Any:
    """A variable that is not trained but written in every step, each replica its own copy.

    Several replicas' copies are averaged where they are read as one, or the first one's taken.
    """
    import tensorflow as tf

    # ON_READ: a mirrored variable could not be assigned inside a replica's compiled function.
    aggregation = tf.VariableAggregation.MEAN if averaged else tf.VariableAggregation.ONLY_FIRST_REPLICA
    return tf.Variable(
        initial,
        name=name,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=aggregation,
    )


class Network:
    """Base of the built-in models: makes layers and lists their variables in the order they were made.

    Variables are float32; `precision` is the type that convolutions compute in.
    """

    def __init__(self, precision: str = "float32") -> None:
        self.precision = precision
        self.trainable_variables: list[Any] = []
        self.state: list[Any] = []

    def conv(self, name: str, inputs: int, filters: int, kernel: int, stride: int = 1) -> Layer:
        """A convolution without bias, SAME padding: (n, h, w, inputs) to (n, h/stride, w/stride, filters).

        Initialised as He et al. 2015 (arXiv:1502.01852) for ReLU.
        """
        import tensorflow as tf

        shape = (kernel, kernel, inputs, filters)
        stddev = math.sqrt(2.0 / (kernel * kernel * inputs))
        weights = self._variable(lambda: tf.random.normal(shape, stddev=stddev), f"{name}/kernel")
        return lambda x: tf.nn.conv2d(x, tf.cast(weights, self.precision), strides=stride, padding="SAME")

    def dense(self, name: str, inputs: int, outputs: int) -> Layer:
        """A float32 product with bias: (n, inputs) to (n, outputs); Glorot uniform (Glorot & Bengio 2010), bias 0."""
        import tensorflow as tf

        limit = math.sqrt(6.0 / (inputs + outputs))
        kernel = self._variable(lambda: tf.random.uniform((inputs, outputs), -limit, limit), f"{name}/kernel")
        bias = self._variable(lambda: tf.zeros([outputs]), f"{name}/bias")
        return lambda x: tf.nn.bias_add(tf.matmul(x, kernel), bias)

    def batch_norm(self, name: str, channels: int, gamma: float = 1.0) -> Layer:
        """Fused batch normalisation in training mode (Ioffe & Szegedy 2015); moving averages decay by 0.9.

        Statistics and scale are float32 whatever the precision. A replica normalises over its own batch.
        """
        import tensorflow as tf

        scale = self._variable(lambda: tf.fill([channels], gamma), f"{name}/gamma")
        offset = self._variable(lambda: tf.zeros([channels]), f"{name}/beta")
        mean = state_variable(lambda: tf.zeros([channels]), f"{name}/moving_mean")
        variance = state_variable(lambda: tf.ones([channels]), f"{name}/moving_variance")
        self.state += [mean, variance]

        def normalise(x: Any) -> Any:
            y, batch_mean, batch_variance = tf.compat.v1.nn.fused_batch_norm(
                x, scale, offset, epsilon=1.001e-5, is_training=True
            )
            for moving, batch in ((mean, batch_mean), (variance, batch_variance)):
                run_with_step(moving.assign_sub(0.1 * (moving - batch), read_value=False))
            return y

        return normalise

    def _variable(self, initial: Callable[[], Any], name: str) -> Any:
        import tensorflow as tf

        self.trainable_variables.append(tf.Variable(initial, name=name))
        return self.trainable_variables[-1]
