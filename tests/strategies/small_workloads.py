"""Small problems of known gradients, and a network with moving averages, as workloads of a user's own."""

from __future__ import annotations

import itertools
import os
from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.layers import Network
from pytest_tfperf.workloads.registry import workload


def linear_data(rank: int | None, examples: int = 8) -> tuple[Any, Any]:
    """A fixed regression problem; the data of one rank, or those of ranks 0 and 1 in one batch."""
    import numpy as np

    if rank is None:
        parts = [linear_data(r, examples) for r in (0, 1)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    random = np.random.default_rng(rank)
    features = random.normal(size=(examples, 4)).astype("float32")
    return features, (features @ np.array([[1.0], [-2.0], [3.0], [0.5]]) + 0.7).astype("float32")


def squared_error(labels: Any, outputs: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_sum(tf.math.squared_difference(labels, outputs), axis=-1)


class Fixed:
    """A linear model that starts at zero, as a plain class of a user's own."""

    def __init__(self) -> None:
        import tensorflow as tf

        self.kernel = tf.Variable(tf.zeros([4, 1]))
        self.bias = tf.Variable(tf.zeros([1]))
        self.trainable_variables = [self.kernel, self.bias]

    def __call__(self, x: Any) -> Any:
        import tensorflow as tf

        return tf.matmul(x, self.kernel) + self.bias


def _fixed(joint: bool) -> Any:
    return Fixed(), squared_error, linear_data(None if joint else int(os.environ["TEST_RANK"]))


@workload("linear_sgd", optimizer=Optimizer("sgd", 0.05))
def linear_sgd(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_momentum", optimizer=Optimizer("momentum", 0.05))
def linear_momentum(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_adam", optimizer=Optimizer("adam", 0.05))
def linear_adam(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_rmsprop", optimizer=Optimizer("rmsprop", 0.05, momentum=0.8, epsilon=0.5, decay=0.7))
def linear_rmsprop(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_scaled", optimizer=Optimizer("sgd", 0.05))
def linear_scaled(joint: bool = False) -> Any:
    model, loss, batch = _fixed(joint)
    return Workload(model, loss, batch, loss_scale=1024.0)


@workload("linear_decayed", optimizer=Optimizer("momentum", 0.05))
def linear_decayed() -> Any:
    model, loss, batch = _fixed(joint=False)
    return Workload(model, loss, batch, weight_decay=0.5)


@workload("constant_gradient", optimizer=Optimizer("sgd", 1.0))
def constant_gradient() -> Any:
    """A weight whose gradient is 1 everywhere, whatever it is by now."""
    import numpy as np
    import tensorflow as tf

    class Weight:
        def __init__(self) -> None:
            self.trainable_variables = [tf.Variable(tf.zeros([1000]))]

        def __call__(self, x: Any) -> Any:
            return tf.reduce_sum(self.trainable_variables[0]) + tf.zeros_like(x)

    return Weight(), lambda labels, outputs: tf.reduce_mean(outputs), (np.zeros([8], "float32"), np.zeros([8]))


_replicas_built = itertools.count()


@workload("linear_by_replica", optimizer=Optimizer("momentum", 0.05))
def linear_by_replica(weight_decay: float = 0.0) -> Any:
    """For two replicas of one process: each trains on the data of its own rank."""
    import tensorflow as tf

    data = [linear_data(rank) for rank in (0, 1)]

    def batch() -> Any:
        context = tf.distribute.get_replica_context() if tf.distribute.has_strategy() else None
        if context is not None:
            rank = int(tf.get_static_value(context.replica_id_in_sync_group))
        else:  # a tower's graph, but for a look at the shapes
            rank = 0 if tf.inside_function() else next(_replicas_built) % 2
        return tuple(tf.constant(part) for part in data[rank])

    return Workload(Fixed(), squared_error, batch, weight_decay=weight_decay)


@workload("linear_rmsprop_by_replica", optimizer=linear_rmsprop.optimizer)
def linear_rmsprop_by_replica() -> Any:
    return linear_by_replica()


class NormalisedConv(Network):
    def __init__(self, precision: str) -> None:
        super().__init__(precision)
        self._conv = self.conv("conv", 3, 4, 3)
        self._norm = self.batch_norm("norm", 4)
        self._head = self.dense("head", 4, 3)

    def __call__(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.nn.relu(self._norm(self._conv(tf.cast(x, self.precision))))
        return self._head(tf.cast(tf.reduce_mean(x, axis=[1, 2]), tf.float32))


latest: dict[str, Any] = {}
"""The last models that `normalised` and Keras made in this process, for looking at their moving averages."""


@workload("normalised", optimizer=Optimizer("momentum", 0.05))
def normalised(precision: str = "float32") -> Any:
    """Batch normalisation, and a batch made by a function inside each step."""
    import tensorflow as tf

    def batch() -> Any:
        images = tf.random.normal([6, 8, 8, 3], mean=5.0)
        return images, tf.reduce_mean(images, axis=[1, 2]) - 5.0

    latest["model"] = NormalisedConv(precision)
    return latest["model"], squared_error, batch


@workload("piped", optimizer=Optimizer("sgd", 0.05))
def piped() -> Any:
    """A tf.data pipeline whose batches differ: 3 of them, over and over."""
    import tensorflow as tf

    features, labels = linear_data(0, examples=12)
    data = tf.data.Dataset.from_tensor_slices((features, labels)).batch(4, drop_remainder=True).prefetch(1)
    return Fixed(), squared_error, data


class HalfFrozen:
    """Two products, of which the first one's weights are trainable to TensorFlow and not among the model's own."""

    def __init__(self) -> None:
        import tensorflow as tf

        self.backbone = tf.Variable(tf.eye(4), name="backbone")
        self.head = tf.Variable(tf.zeros([4, 1]), name="head")
        self.trainable_variables = [self.head]
        latest["model"] = self

    def __call__(self, x: Any) -> Any:
        import tensorflow as tf

        return tf.matmul(tf.matmul(x, self.backbone), self.head)


@workload("half_frozen", optimizer=Optimizer("sgd", 0.05))
def half_frozen() -> Any:
    return HalfFrozen(), squared_error, linear_data(0)


@workload("captured", optimizer=Optimizer("sgd", 0.05))
def captured() -> Any:
    """A batch function that makes each batch from a tensor made before, and a wrapper that lists Keras variables."""
    import keras
    import tensorflow as tf

    layer = keras.layers.Dense(1)
    layer.build((None, 4))

    class Wrapped:
        trainable_variables = layer.trainable_variables

        def __call__(self, x: Any) -> Any:
            return layer(x)

    features, labels = (tf.constant(part) for part in linear_data(0))

    def batch() -> Any:
        rows = tf.random.shuffle(tf.range(8))[:6]
        return tf.gather(features, rows), tf.gather(labels, rows)

    return Wrapped(), squared_error, batch


@workload("branching", optimizer=Optimizer("sgd", 0.05))
def branching() -> Any:
    """Model, loss and batch function with Python control flow over tensors, which TensorFlow alone cannot trace."""
    import tensorflow as tf

    class Branching(Fixed):
        def __call__(self, x: Any) -> Any:
            outputs = super().__call__(x)
            if tf.reduce_sum(x) > 1e9:
                outputs = tf.zeros_like(outputs)
            return outputs

    def loss(labels: Any, outputs: Any) -> Any:
        total = tf.constant(0.0)
        for row in tf.range(tf.shape(labels)[0]):
            total += squared_error(labels, outputs)[row]
        return total / 8.0

    def batch() -> Any:
        features, labels = (tf.constant(part) for part in linear_data(int(os.environ["TEST_RANK"])))
        scale = tf.constant(1.0)
        while scale < 4.0:
            scale *= 2.0
        return features * scale / 4.0, labels

    return Branching(), loss, batch
