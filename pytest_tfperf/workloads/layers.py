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

    Variables are float32; `precision` is the type that convolutions and hidden layers compute in. A subclass has
    its forward pass in `forward`.
    """

    def __init__(self, precision: str = "float32") -> None:
        self.precision = precision
        self.trainable_variables: list[Any] = []
        self.state: list[Any] = []

    def __call__(self, x: Any) -> Any:
        import tensorflow as tf

        # No Python control flow here depends on a tensor. AutoGraph would only take time, and complain in the log
        # of annotations that it cannot evaluate in nested functions.
        return tf.autograph.experimental.do_not_convert(self.forward)(x)

    def forward(self, x: Any) -> Any:
        raise NotImplementedError

    def conv(
        self,
        name: str,
        inputs: int,
        filters: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        *,
        padding: str = "SAME",
        bias: bool = False,
        gain: float = 2.0,
    ) -> Layer:
        """A convolution: (n, h, w, inputs) to (n, h/stride, w/stride, filters) with SAME padding.

        Its kernel starts with the variance `gain` by inputs of a unit, for ReLU as He et al. 2015 (arXiv:1502.01852);
        a bias starts at 0.
        """
        import tensorflow as tf

        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        shape = (height, width, inputs, filters)
        stddev = math.sqrt(gain / (height * width * inputs))
        weights = self._variable(lambda: tf.random.normal(shape, stddev=stddev), f"{name}/kernel")
        offset = self._variable(lambda: tf.zeros([filters]), f"{name}/bias") if bias else None

        def convolve(x: Any) -> Any:
            y = tf.nn.conv2d(x, tf.cast(weights, self.precision), strides=stride, padding=padding)
            return y if offset is None else tf.nn.bias_add(y, tf.cast(offset, self.precision))

        return convolve

    def dense(
        self,
        name: str,
        inputs: int,
        outputs: int,
        *,
        precision: str = "float32",
        bias: bool = True,
        stddev: float | None = None,
    ) -> Layer:
        """A product with bias, in float32 unless told: (n, inputs) to (n, outputs).

        Glorot uniform (Glorot & Bengio 2010), or normal with `stddev`; bias 0.
        """
        import tensorflow as tf

        limit = math.sqrt(6.0 / (inputs + outputs))

        def initial() -> Any:
            if stddev is not None:
                return tf.random.normal((inputs, outputs), stddev=stddev)
            return tf.random.uniform((inputs, outputs), -limit, limit)

        kernel = self._variable(initial, f"{name}/kernel")
        offset = self._variable(lambda: tf.zeros([outputs]), f"{name}/bias") if bias else None

        def multiply(x: Any) -> Any:
            y = tf.matmul(tf.cast(x, precision), tf.cast(kernel, precision))
            return y if offset is None else tf.nn.bias_add(y, tf.cast(offset, precision))

        return multiply

    def batch_norm(
        self,
        name: str,
        channels: int,
        gamma: float = 1.0,
        *,
        scale: bool = True,
        decay: float = 0.9,
        epsilon: float = 1.001e-5,
    ) -> Layer:
        """Fused batch normalisation of (n, h, w, channels) in training mode (Ioffe & Szegedy 2015).

        Statistics and scale are float32 whatever the precision. A replica normalises over its own batch. `gamma`
        is the scale's start; without `scale` it stays 1. `decay` is that of the moving averages.
        """
        import tensorflow as tf

        factor = self._variable(lambda: tf.fill([channels], gamma), f"{name}/gamma") if scale else None
        offset = self._variable(lambda: tf.zeros([channels]), f"{name}/beta")
        mean = state_variable(lambda: tf.zeros([channels]), f"{name}/moving_mean")
        variance = state_variable(lambda: tf.ones([channels]), f"{name}/moving_variance")
        self.state += [mean, variance]

        def normalise(x: Any) -> Any:
            by = tf.ones([channels]) if factor is None else factor
            y, batch_mean, batch_variance = tf.compat.v1.nn.fused_batch_norm(
                x, by, offset, epsilon=epsilon, is_training=True
            )
            for moving, batch in ((mean, batch_mean), (variance, batch_variance)):
                run_with_step(moving.assign_sub((1.0 - decay) * (moving - batch), read_value=False))
            return y

        return normalise

    def layer_norm(self, name: str, width: int, epsilon: float) -> Layer:
        """Layer normalisation of (n, width) over its last axis, in float32 (Ba et al. 2016, arXiv:1607.06450)."""
        import tensorflow as tf

        factor = self._variable(lambda: tf.ones([width]), f"{name}/gamma")
        offset = self._variable(lambda: tf.zeros([width]), f"{name}/beta")

        def normalise(x: Any) -> Any:
            exact = tf.cast(x, tf.float32)
            mean, variance = tf.nn.moments(exact, axes=-1, keepdims=True)
            return tf.cast((exact - mean) * tf.math.rsqrt(variance + epsilon) * factor + offset, self.precision)

        return normalise

    def conv_norm(
        self,
        name: str,
        inputs: int,
        filters: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        gamma: float = 1.0,
    ) -> Layer:
        """A convolution without bias, SAME padding, and its batch normalisation."""
        conv = self.conv(f"{name}/conv", inputs, filters, kernel, stride)
        norm = self.batch_norm(f"{name}/norm", filters, gamma)
        return lambda x: norm(conv(x))

    def _variable(self, initial: Callable[[], Any], name: str) -> Any:
        import tensorflow as tf

        self.trainable_variables.append(tf.Variable(initial, name=name))
        return self.trainable_variables[-1]


def dropout(x: Any, rate: float) -> Any:
    """Zero a share `rate` of the values and scale up the others (Srivastava et al. 2014); nothing at rate 0."""
    import tensorflow as tf

    return tf.nn.dropout(x, rate) if rate else x


def scaled(filters: int, width: float) -> int:
    """A layer's filters in a network `width` times as wide, at least 1."""
    return max(1, round(filters * width))
