"""Residual networks for ImageNet (He et al. 2015, arXiv:1512.03385), version 1.5: ResNet-50 and ResNet-152.

v1.5 has the stride of a down-sampling block in its 3x3 convolution, where the paper has it in the first 1x1; NVIDIA's
and MLPerf's figures are for v1.5. The last scale of each block starts at zero (Goyal et al. 2017, arXiv:1706.02677).
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import values
from pytest_tfperf.workloads.inputs import classifier, cost_at
from pytest_tfperf.workloads.layers import Layer, Network, scaled
from pytest_tfperf.workloads.registry import workload

_BLOCKS = {50: (3, 4, 6, 3), 152: (3, 8, 36, 3)}
"""Blocks of each stage by depth; the paper's table 1."""


class BottleneckResNet(Network):
    """(n, s, s, 3) to (n, classes) logits in float32; the product of the head is float32 too."""

    def __init__(self, depth: int, classes: int, precision: str, width: float, share: float = 1.0) -> None:
        super().__init__(precision)
        channels = scaled(64, width)
        self._stem = self.conv_norm("stem", 3, channels, 7, stride=2)
        self._blocks: list[tuple[list[Layer], Layer | None]] = []
        for stage, blocks in enumerate(_BLOCKS[depth], start=1):
            filters = scaled(32 * 2**stage, width)
            for block in range(scaled(blocks, share)):
                stride = 2 if block == 0 and stage > 1 else 1
                self._blocks.append(self._bottleneck(f"stage_{stage}/block_{block + 1}", channels, filters, stride))
                channels = 4 * filters
        self._head = self.dense("head", channels, classes)

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.nn.relu(self._stem(tf.cast(x, self.precision)))
        x = tf.nn.max_pool2d(x, ksize=3, strides=2, padding="SAME")
        for (first, second, third), shortcut in self._blocks:
            y = tf.nn.relu(first(x))
            y = tf.nn.relu(second(y))
            x = tf.nn.relu(third(y) + (x if shortcut is None else shortcut(x)))
        return self._head(tf.reduce_mean(x, axis=[1, 2]))

    def _bottleneck(self, name: str, inputs: int, filters: int, stride: int) -> tuple[list[Layer], Layer | None]:
        layers = [
            self.conv_norm(f"{name}/1", inputs, filters, 1),
            self.conv_norm(f"{name}/2", filters, filters, 3, stride),
            self.conv_norm(f"{name}/3", filters, 4 * filters, 1, gamma=0.0),
        ]
        if inputs == 4 * filters:
            return layers, None
        return layers, self.conv_norm(f"{name}/shortcut", inputs, 4 * filters, 1, stride)


@workload(
    "resnet50",
    optimizer=Optimizer("momentum", learning_rate=0.01),
    xla=True,
    # torchvision's table has 4.09 and 11.51 thousand million for the two.
    cost=cost_at(4_089_184_256, image_size=224, classes=1000, width=1.0),
    check=values(),
)
def resnet50(
    *,
    batch_size: int = 256,
    image_size: int = 224,
    classes: int = 1000,
    precision: str = "float16",
    width: float = 1.0,
    weight_decay: float = 0.0,
    input: str = "synthetic",
) -> Workload:
    """25,557,032 trainable parameters by default, softmax cross-entropy on one fixed batch of noise.

    Variables, loss and updates are float32 whatever the precision, ``float16``, ``bfloat16`` or ``float32``; the
    loss is scaled by 128 for float16. `input` is ``synthetic`` or ``host`` (copied to the device in every step).
    """
    model = BottleneckResNet(50, classes, precision, width)
    return classifier(
        model,
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
    )


@workload(
    "resnet152",
    optimizer=Optimizer("momentum", learning_rate=0.01),
    xla=True,
    cost=cost_at(11_513_626_624, image_size=224, classes=1000, width=1.0, blocks=1.0),
    check=values(),
)
def resnet152(
    *,
    batch_size: int = 32,
    image_size: int = 224,
    classes: int = 1000,
    precision: str = "float32",
    width: float = 1.0,
    blocks: float = 1.0,
    weight_decay: float = 0.0,
    input: str = "synthetic",
) -> Workload:
    """60,192,808 trainable parameters by default: the ResNet-152 of tensorflow/tensorflow#5683, as `resnet50` else.

    `blocks` is the share of each stage's blocks that is there, at least one: a shallow network for small machines.
    """
    model = BottleneckResNet(152, classes, precision, width, blocks)
    return classifier(
        model,
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
    )
