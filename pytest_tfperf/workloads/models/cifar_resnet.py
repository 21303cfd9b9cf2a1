"""Residual networks for images of 32 x 32 (He et al. 2015, arXiv:1512.03385): ResNet-110, and an 18-layer one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import one_of, records_fit, values
from pytest_tfperf.workloads.inputs import classifier, cost_at
from pytest_tfperf.workloads.layers import Layer, Network, scaled
from pytest_tfperf.workloads.registry import workload


class BasicResNet(Network):
    """(n, s, s, 3) to (n, classes) logits in float32: a 3x3 stem, then stages of blocks of two 3x3 convolutions.

    Each stage after the first halves the image. Where a block changes the shape its shortcut is a 1x1 convolution
    if `projections` (the paper's option B), else every second pixel, padded with channels of zeros (option A).
    """

    def __init__(
        self,
        stages: Sequence[tuple[int, int]],
        classes: int,
        precision: str,
        *,
        projections: bool = False,
        ballast: int = 0,
    ) -> None:
        import tensorflow as tf

        super().__init__(precision)
        channels = stages[0][1]
        self._stem = self.conv_norm("stem", 3, channels, 3)
        self._blocks: list[tuple[Layer, Layer, Layer]] = []
        for stage, (blocks, filters) in enumerate(stages, start=1):
            for block in range(1, blocks + 1):
                name, stride = f"stage_{stage}/block_{block}", 2 if block == 1 and stage > 1 else 1
                first = self.conv_norm(f"{name}/1", channels, filters, 3, stride)
                second = self.conv_norm(f"{name}/2", filters, filters, 3)
                if (stride, channels) == (1, filters):
                    shortcut: Layer = _unchanged
                elif projections:
                    shortcut = self.conv_norm(f"{name}/shortcut", channels, filters, 1, stride)
                else:
                    shortcut = _subsampled(stride, filters - channels)
                self._blocks.append((first, second, shortcut))
                channels = filters
        self._head = self.dense("head", channels, classes)
        self._ballast = self._variable(lambda: tf.zeros([ballast]), "ballast") if ballast else None

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.nn.relu(self._stem(tf.cast(x, self.precision)))
        for first, second, shortcut in self._blocks:
            x = tf.nn.relu(second(tf.nn.relu(first(x))) + shortcut(x))
        logits = self._head(tf.reduce_mean(x, axis=[1, 2]))
        # The same number for every class: it changes no probability, and its gradient is 0 but for rounding.
        return logits if self._ballast is None else logits + tf.reduce_mean(self._ballast)


def _unchanged(x: Any) -> Any:
    return x


def _subsampled(stride: int, more_channels: int) -> Layer:
    import tensorflow as tf

    before = more_channels // 2
    padding = [[0, 0], [0, 0], [0, 0], [before, more_channels - before]]
    return lambda x: tf.pad(x[:, ::stride, ::stride, :], padding)


_INPUT = one_of("synthetic", "host", "records")


def _check_resnet110(*, depth: int, **params: Any) -> None:
    if depth < 8 or depth % 6 != 2:
        raise UsageError(f"depth is 6n + 2 (8, 14, ... 110), not {depth}.")
    records_fit(**params)


@workload(
    "resnet110",
    optimizer=Optimizer("momentum", learning_rate=0.01),
    cost=cost_at(252_887_680, image_size=32, classes=10, depth=110, width=1.0),
    check=values(_check_resnet110, input=_INPUT),
)
def resnet110(
    *,
    batch_size: int = 128,
    image_size: int = 32,
    classes: int = 10,
    depth: int = 110,
    width: float = 1.0,
    precision: str = "float32",
    weight_decay: float = 0.0002,
    ballast: int = 0,
    input: str = "records",
    records: int = 10_000,
) -> Workload:
    """ResNet-110 for CIFAR-10 (section 4.2, identity shortcuts): 1,727,962 trainable parameters by default.

    The network of tensorflow/tensorflow#9399, with the decay and batch of the model zoo's program. Its many small
    variables make a parameter server's work. `depth` is 6n + 2. `input` is ``records`` (that many images in CIFAR's
    binary format, generated once a machine, read, shuffled and augmented by CPU cores), ``synthetic`` or ``host``.
    `ballast` is a number of parameters beside the network, in one variable, that a step moves and hardly computes with.
    """
    blocks = (depth - 2) // 6
    stages = [(blocks, scaled(filters, width)) for filters in (16, 32, 64)]
    return classifier(
        BasicResNet(stages, classes, precision, ballast=ballast),
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
        records=records,
    )


@workload(
    "resnet18_cifar",
    optimizer=Optimizer("momentum", learning_rate=0.01),
    cost=cost_at(555_422_720, image_size=32, classes=10, width=1.0),
    check=values(records_fit, input=_INPUT),
)
def resnet18_cifar(
    *,
    batch_size: int = 16,
    image_size: int = 32,
    classes: int = 10,
    width: float = 1.0,
    precision: str = "float32",
    weight_decay: float = 0.0,
    input: str = "synthetic",
    records: int = 10_000,
) -> Workload:
    """ResNet-18 with a stem for CIFAR-10: 11,173,962 trainable parameters by default, in batches of 16.

    Stands in for the network of tensorflow/tensorflow#4164, which its reporter did not name. The size is inferred:
    steps of 16 examples took 0.69 s more across a 1 Gbit/s link, time for 43 MB each way, 10.8 million float32. So
    is the arithmetic: about 50 GFLOP a step, and the reporter's K40c took 0.074 s for one.
    """
    stages = [(2, scaled(filters, width)) for filters in (64, 128, 256, 512)]
    return classifier(
        BasicResNet(stages, classes, precision, projections=True),
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
        records=records,
    )
