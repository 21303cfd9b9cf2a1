"""A small convolutional network for machines without a GPU: a step takes some milliseconds on two cores."""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import COUNT, values
from pytest_tfperf.workloads.inputs import classifier
from pytest_tfperf.workloads.layers import Network
from pytest_tfperf.workloads.registry import workload


class SmallConv(Network):
    """(n, s, s, 3) to (n, classes) logits: three 3x3 convolutions of `width`, 2 and 4 times as many filters."""

    def __init__(self, classes: int, width: int, precision: str) -> None:
        super().__init__(precision)
        self._convs = [
            self.conv("conv_1", 3, width, 3),
            self.conv("conv_2", width, 2 * width, 3, stride=2),
            self.conv("conv_3", 2 * width, 4 * width, 3, stride=2),
        ]
        self._logits = self.dense("logits", 4 * width, classes)

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.cast(x, self.precision)
        for conv in self._convs:
            x = tf.nn.relu(conv(x))
        return self._logits(tf.reduce_mean(x, axis=[1, 2]))


@workload("smallconv", optimizer=Optimizer("momentum", learning_rate=0.01), check=values(width=COUNT))
def smallconv(
    *,
    batch_size: int = 32,
    image_size: int = 32,
    classes: int = 10,
    width: int = 16,
    precision: str = "float32",
    weight_decay: float = 0.0,
    input: str = "synthetic",
) -> Workload:
    """24,122 parameters by default, softmax cross-entropy on one fixed batch of noise."""
    return classifier(
        SmallConv(classes, width, precision),
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
    )
