"""AlexNet in one column, the network of Krizhevsky 2014 (arXiv:1404.5997, "One weird trick"), section 5.

Five convolutions have 2.5 million of its parameters and all its arithmetic, three fully connected layers 58.6 million
and none: `fc6` alone is 151 of 244 MB.
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import at_least, values
from pytest_tfperf.workloads.inputs import classifier, cost_at
from pytest_tfperf.workloads.layers import Network, dropout, scaled
from pytest_tfperf.workloads.registry import workload

_CONVOLUTIONS = ((64, 11, 4), (192, 5, 1), (384, 3, 1), (256, 3, 1), (256, 3, 1))
"""Filters, kernel, stride."""
_POOLED = (0, 1, 4)
_NORMALISED = (0, 1)
_SMALLEST = 57
"""Below this the third pooling has less than its 3 x 3 window."""


class AlexNet(Network):
    """(n, s, s, 3) to (n, classes) logits in float32; `width` scales filters and hidden units."""

    def __init__(self, image_size: int, classes: int, width: float, rate: float, lrn: bool, precision: str) -> None:
        super().__init__(precision)
        self._rate, self._lrn = rate, lrn
        channels, side = 3, image_size
        self._convs = []
        for index, (filters, kernel, stride) in enumerate(_CONVOLUTIONS):
            filters = scaled(filters, width)
            # Gain 1: three poolings keep maxima and dropout scales up, so that with 2 the first losses would be 17.
            self._convs.append(self.conv(f"conv{index + 1}", channels, filters, kernel, stride, bias=True, gain=1.0))
            channels, side = filters, -(-side // stride)
            if index in _POOLED:
                side = (side - 3) // 2 + 1
        flat, hidden = side * side * channels, scaled(4096, width)
        self._fc6 = self.dense("fc6", flat, hidden, precision=precision)
        self._fc7 = self.dense("fc7", hidden, hidden, precision=precision)
        self._fc8 = self.dense("fc8", hidden, classes)

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.cast(x, self.precision)
        for index, conv in enumerate(self._convs):
            x = tf.nn.relu(conv(x))
            if self._lrn and index in _NORMALISED:
                # In float32, since XLA refuses it in half precision.
                x = tf.cast(x, tf.float32)
                x = tf.nn.local_response_normalization(x, depth_radius=2, bias=1.0, alpha=2e-5, beta=0.75)
                x = tf.cast(x, self.precision)
            if index in _POOLED:
                x = tf.nn.max_pool2d(x, ksize=3, strides=2, padding="VALID")
        x = tf.reshape(x, [x.shape[0], -1])
        for layer in (self._fc6, self._fc7):
            x = dropout(tf.nn.relu(layer(x)), self._rate)
        return self._fc8(x)


@workload(
    "alexnet",
    optimizer=Optimizer("sgd", learning_rate=0.01),
    # torchvision's, 0.714 thousand million, has 55 pixels a side after the first convolution; SAME padding gives 56.
    cost=cost_at(716_767_232, image_size=224, classes=1000, width=1.0),
    check=values(image_size=at_least(_SMALLEST)),
)
def alexnet(
    *,
    batch_size: int = 256,
    image_size: int = 224,
    classes: int = 1000,
    width: float = 1.0,
    dropout: float = 0.5,
    lrn: bool = False,
    precision: str = "float32",
    weight_decay: float = 0.0,
    input: str = "synthetic",
) -> Workload:
    """61,100,840 trainable parameters by default, softmax cross-entropy.

    The network of tensorflow/tensorflow#5683: its reporter added the fully connected layers to `alexnet_benchmark`,
    without dropout (``dropout=0.0``), with local response normalisation (``lrn=True``), and fed every batch from
    Python, 154 MB of it; ``input="host"`` copies as much to the device in every step.
    """
    return classifier(
        AlexNet(image_size, classes, width, dropout, lrn, precision),
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
    )
