"""A small convolutional network for machines without a GPU: a step takes some milliseconds on two cores."""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.layers import Network
from pytest_tfperf.workloads.registry import workload


class SmallConv(Network):
    """(n, s, s, 3) to (n, classes) logits: three 3x3 convolutions of `width`, 2 and 4 times as many filters."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self._convs = [
            self.conv("conv_1", 3, width, 3),
            self.conv("conv_2", width, 2 * width, 3, stride=2),
            self.conv("conv_3", 2 * width, 4 * width, 3, stride=2),
        ]
        self._logits = self.dense("logits", 4 * width, classes)

    def __call__(self, images: Any) -> Any:
        import tensorflow as tf

        x = images
        for conv in self._convs:
            x = tf.nn.relu(conv(x))
        return self._logits(tf.reduce_mean(x, axis=[1, 2]))


@workload("smallconv", optimizer=Optimizer("momentum", learning_rate=0.01))
def smallconv(*, batch_size: int = 32, image_size: int = 32, classes: int = 10, width: int = 16) -> Workload:
    """24,122 parameters by default, softmax cross-entropy on one fixed batch of noise."""
    import tensorflow as tf

    def loss(labels: Any, logits: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    images = tf.random.stateless_normal([batch_size, image_size, image_size, 3], seed=[1, 2])
    labels = tf.random.stateless_uniform([batch_size], seed=[3, 4], maxval=classes, dtype=tf.int32)
    return Workload(SmallConv(classes, width), loss, (images, labels))
