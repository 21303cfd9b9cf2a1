"""Inception-ResNet v1 (Szegedy et al. 2016, arXiv:1602.07261) as face recognition uses it, with 160 x 160 images.

The definition is that of https://github.com/davidsandberg/facenet: a bottleneck layer gives the embedding of a face,
a softmax over identities trains it. Batch normalisation has no scale, decay 0.995 and epsilon 0.001.
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import at_least, values
from pytest_tfperf.workloads.inputs import classifier, cost_at
from pytest_tfperf.workloads.layers import Layer, dropout, scaled
from pytest_tfperf.workloads.registry import workload
from pytest_tfperf.workloads.towers import Conv, Fork, Part, Pool, TowerNetwork, fork

_STEM: tuple[Part, ...] = (
    Conv(32, 3, stride=2),
    Conv(32, 3, padding="VALID"),
    Conv(64, 3),
    Pool(),
    Conv(80),
    Conv(192, 3, padding="VALID"),
    Conv(256, 3, stride=2),
)
_BLOCK_35 = fork([Conv(32)], [Conv(32), Conv(32, 3)], [Conv(32), Conv(32, 3), Conv(32, 3)])
_BLOCK_17 = fork([Conv(128)], [Conv(128), Conv(128, (1, 7)), Conv(128, (7, 1))])
_BLOCK_8 = fork([Conv(192)], [Conv(192), Conv(192, (1, 3)), Conv(192, (3, 1))])
_REDUCTION_A = fork([Conv(384, 3, stride=2)], [Conv(192), Conv(192, 3), Conv(256, 3, stride=2)], [Pool()])
_REDUCTION_B = fork(
    [Conv(256), Conv(384, 3, stride=2)],
    [Conv(256), Conv(256, 3, stride=2)],
    [Conv(256), Conv(256, 3), Conv(256, 3, stride=2)],
    [Pool()],
)
_SMALLEST = 75
"""Of an image's side: less than this leaves the last reduction nothing."""


class InceptionResNetV1(TowerNetwork):
    """(n, s, s, 3) to (n, classes) logits in float32, by way of (n, bottleneck) embeddings, normalised by batch.

    `depth` is the number of 35x35 and of 8x8 blocks, half that of 17x17 ones; one more 8x8 block comes last.
    """

    def __init__(self, classes: int, bottleneck: int, depth: int, width: float, rate: float, precision: str) -> None:
        super().__init__(precision, width, decay=0.995, epsilon=0.001)
        self._rate = rate
        self._layers: list[Layer] = []
        stem, channels = self.tower("stem", 3, _STEM)
        self._layers.append(stem)
        for name, block, scale, count, reduction in (
            ("block35", _BLOCK_35, 0.17, depth, _REDUCTION_A),
            ("block17", _BLOCK_17, 0.10, 2 * depth, _REDUCTION_B),
            ("block8", _BLOCK_8, 0.20, depth, None),
        ):
            self._layers += [self._residual(f"{name}_{i}", channels, block, scale) for i in range(1, count + 1)]
            if reduction is not None:
                reduced, channels = self.tower(f"after_{name}", channels, (reduction,))
                self._layers.append(reduced)
        self._layers.append(self._residual(f"block8_{depth + 1}", channels, _BLOCK_8, 1.0, activate=False))
        embedding = scaled(bottleneck, width)
        self._bottleneck = self.dense("bottleneck", channels, embedding, bias=False)
        self._norm = self.batch_norm("bottleneck/norm", embedding, scale=False, decay=0.995, epsilon=0.001)
        self._logits = self.dense("logits", embedding, classes)

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.cast(x, self.precision)
        for layer in self._layers:
            x = layer(x)
        x = self._bottleneck(dropout(tf.reduce_mean(x, axis=[1, 2]), self._rate))
        x = self._norm(x[:, tf.newaxis, tf.newaxis, :])
        return self._logits(x[:, 0, 0, :])

    def _residual(self, name: str, channels: int, block: Fork, scale: float, *, activate: bool = True) -> Layer:
        import tensorflow as tf

        branches, filters = self.tower(name, channels, (block,))
        up = self.conv(f"{name}/up", filters, channels, 1, bias=True)

        def run(x: Any) -> Any:
            y = x + scale * up(branches(x))
            return tf.nn.relu(y) if activate else y

        return run


@workload(
    "inception_resnet_v1",
    optimizer=Optimizer("adam", learning_rate=1e-3),
    cost=cost_at(1_422_782_304, image_size=160, classes=10_000, bottleneck=512, depth=5, width=1.0),
    check=values(image_size=at_least(_SMALLEST)),
)
def inception_resnet_v1(
    *,
    batch_size: int = 128,
    image_size: int = 160,
    classes: int = 10_000,
    bottleneck: int = 512,
    depth: int = 5,
    width: float = 1.0,
    dropout: float = 0.0,
    precision: str = "float32",
    weight_decay: float = 0.0,
    input: str = "synthetic",
) -> Workload:
    """28,597,824 trainable parameters by default, softmax cross-entropy: the network of tensorflow/tensorflow#12689.

    That report is about ``weight_decay=0.0001``, which cost a fifth of its two GPUs' speed and nothing of one's.
    Its RMSProp keeps two slots a parameter, as Adam does here. `dropout` is 1 minus the probability to keep.
    """
    return classifier(
        InceptionResNetV1(classes, bottleneck, depth, width, dropout, precision),
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
    )
