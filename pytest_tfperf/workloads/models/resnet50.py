"""ResNet-50 v1.5 (He et al. 2015, arXiv:1512.03385) on synthetic images.

v1.5 has the stride of a down-sampling block in its 3x3 convolution, where the paper has it in the first 1x1; NVIDIA's
and MLPerf's figures are for v1.5. The last scale of each block starts at zero (Goyal et al. 2017, arXiv:1706.02677).
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.layers import Layer, Network
from pytest_tfperf.workloads.registry import workload

_STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
"""Blocks, filters of the 3x3 convolution, stride of the first block."""


class ResNet50(Network):
    """(n, s, s, 3) to (n, classes) logits in float32; the product of the head is float32 too."""

    def __init__(self, classes: int, precision: str) -> None:
        super().__init__(precision)
        self._stem = self._conv_norm("stem", 3, 64, 7, stride=2)
        self._blocks: list[tuple[list[Layer], Layer | None]] = []
        channels = 64
        for stage, (blocks, filters, stride) in enumerate(_STAGES, start=1):
            for block in range(blocks):
                name = f"stage_{stage}/block_{block + 1}"
                self._blocks.append(self._bottleneck(name, channels, filters, stride if block == 0 else 1))
                channels = 4 * filters
        self._head = self.dense("head", channels, classes)

    def __call__(self, images: Any) -> Any:
        import tensorflow as tf

        x = tf.nn.relu(self._stem(tf.cast(images, self.precision)))
        x = tf.nn.max_pool2d(x, ksize=3, strides=2, padding="SAME")
        for (first, second, third), shortcut in self._blocks:
            y = tf.nn.relu(first(x))
            y = tf.nn.relu(second(y))
            x = tf.nn.relu(third(y) + (x if shortcut is None else shortcut(x)))
        return self._head(tf.cast(tf.reduce_mean(x, axis=[1, 2]), tf.float32))

    def _bottleneck(self, name: str, inputs: int, filters: int, stride: int) -> tuple[list[Layer], Layer | None]:
        layers = [
            self._conv_norm(f"{name}/1", inputs, filters, 1),
            self._conv_norm(f"{name}/2", filters, filters, 3, stride),
            self._conv_norm(f"{name}/3", filters, 4 * filters, 1, gamma=0.0),
        ]
        if inputs == 4 * filters:
            return layers, None
        return layers, self._conv_norm(f"{name}/shortcut", inputs, 4 * filters, 1, stride)

    def _conv_norm(
        self, name: str, inputs: int, filters: int, kernel: int, stride: int = 1, gamma: float = 1.0
    ) -> Layer:
        conv = self.conv(f"{name}/conv", inputs, filters, kernel, stride)
        norm = self.batch_norm(f"{name}/norm", filters, gamma)
        return lambda x: norm(conv(x))


@workload("resnet50", optimizer=Optimizer("momentum", learning_rate=0.01), xla=True)
def resnet50(
    *, batch_size: int = 256, image_size: int = 224, classes: int = 1000, precision: str = "float16"
) -> Workload:
    """25,557,032 trainable parameters by default, softmax cross-entropy on one fixed batch of noise.

    Variables, loss and updates are float32 whatever the precision, ``float16``, ``bfloat16`` or ``float32``; the
    loss is scaled by 128 for float16. No weight decay and no augmentation: this measures speed, not accuracy.
    """
    import tensorflow as tf

    if precision not in ("float16", "bfloat16", "float32"):
        raise UsageError(f"Workload 'resnet50': precision is float16, bfloat16 or float32, not {precision!r}.")

    def loss(labels: Any, logits: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    images = tf.cast(tf.random.stateless_normal([batch_size, image_size, image_size, 3], seed=[1, 2]), precision)
    labels = tf.random.stateless_uniform([batch_size], seed=[3, 4], maxval=classes, dtype=tf.int32)
    loss_scale = 128.0 if precision == "float16" else 1.0
    return Workload(ResNet50(classes, precision), loss, (images, labels), loss_scale)
