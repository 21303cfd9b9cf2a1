"""Inception v3 (Szegedy et al. 2015, "Rethinking the Inception Architecture", arXiv:1512.00567).

Batch normalisation has no scale, decay 0.9997 and epsilon 0.001, as in TensorFlow's `slim`.
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import at_least, values
from pytest_tfperf.workloads.inputs import classifier, cost_at, cross_entropy
from pytest_tfperf.workloads.layers import dropout
from pytest_tfperf.workloads.registry import workload
from pytest_tfperf.workloads.towers import Conv, Fork, Part, Pool, TowerNetwork, fork

_AVERAGE = Pool("AVG", stride=1)
_SMALLEST = 75
"""Of an image's side: less than this leaves the last reduction nothing."""
_SMALLEST_WITH_HEAD = 283
"""Of an image's side with the auxiliary head, which needs 17 x 17 where it branches off."""


def _grid_35(pooled: int) -> Fork:
    return fork(
        [Conv(64)],
        [Conv(48), Conv(64, 5)],
        [Conv(64), Conv(96, 3), Conv(96, 3)],
        [_AVERAGE, Conv(pooled)],
    )


def _grid_17(inner: int) -> Fork:
    return fork(
        [Conv(192)],
        [Conv(inner), Conv(inner, (1, 7)), Conv(192, (7, 1))],
        [Conv(inner), Conv(inner, (7, 1)), Conv(inner, (1, 7)), Conv(inner, (7, 1)), Conv(192, (1, 7))],
        [_AVERAGE, Conv(192)],
    )


def _grid_8() -> Fork:
    split = fork([Conv(384, (1, 3))], [Conv(384, (3, 1))])
    return fork([Conv(320)], [Conv(384), split], [Conv(448), Conv(384, 3), split], [_AVERAGE, Conv(192)])


_STEM: tuple[Part, ...] = (
    Conv(32, 3, stride=2),
    Conv(32, 3, padding="VALID"),
    Conv(64, 3),
    Pool(),
    Conv(80),
    Conv(192, 3, padding="VALID"),
    Pool(),
)
_TO_17 = fork([Conv(384, 3, stride=2)], [Conv(64), Conv(96, 3), Conv(96, 3, stride=2)], [Pool()])
_TO_8 = fork(
    [Conv(192), Conv(320, 3, stride=2)],
    [Conv(192), Conv(192, (1, 7)), Conv(192, (7, 1)), Conv(192, 3, stride=2)],
    [Pool()],
)
_BODY = (
    *_STEM,
    *(_grid_35(pooled) for pooled in (32, 64, 64)),
    _TO_17,
    *(_grid_17(inner) for inner in (128, 160, 160, 192)),
)
_TAIL = (_TO_8, _grid_8(), _grid_8())


class InceptionV3(TowerNetwork):
    """(n, s, s, 3) to (n, classes) logits in float32; to a pair of them with the auxiliary head."""

    def __init__(self, classes: int, width: float, rate: float, auxiliary: bool, precision: str) -> None:
        super().__init__(precision, width, decay=0.9997, epsilon=0.001)
        self._rate = rate
        self._body, channels = self.tower("body", 3, _BODY)
        self._tail, features = self.tower("tail", channels, _TAIL)
        self._logits = self.dense("logits", features, classes)
        self._auxiliary = None
        if auxiliary:
            self._auxiliary, features = self.tower("auxiliary", channels, (Conv(128), Conv(768, 5, padding="VALID")))
            self._auxiliary_logits = self.dense("auxiliary_logits", features, classes)

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        x = self._body(tf.cast(x, self.precision))
        logits = self._logits(dropout(tf.reduce_mean(self._tail(x), axis=[1, 2]), self._rate))
        if self._auxiliary is None:
            return logits
        pooled = tf.nn.avg_pool2d(x, ksize=5, strides=3, padding="VALID")
        return logits, self._auxiliary_logits(tf.reduce_mean(self._auxiliary(pooled), axis=[1, 2]))


def _loss_with_head(labels: Any, logits: Any) -> Any:
    main, auxiliary = logits
    return cross_entropy(labels, main) + 0.4 * cross_entropy(labels, auxiliary)


def _check(*, image_size: int, auxiliary: bool, **_: object) -> None:
    at_least(_SMALLEST_WITH_HEAD if auxiliary else _SMALLEST).check("image_size", image_size)


@workload(
    "inception_v3",
    optimizer=Optimizer("rmsprop", 0.045, momentum=0.9, epsilon=1.0, decay=0.9),
    # torchvision's table: 5.71 thousand million.
    cost=cost_at(5_713_216_096, image_size=299, classes=1000, width=1.0, auxiliary=False),
    check=values(_check),
)
def inception_v3(
    *,
    batch_size: int = 32,
    image_size: int = 299,
    classes: int = 1000,
    width: float = 1.0,
    dropout: float = 0.2,
    auxiliary: bool = False,
    precision: str = "float32",
    weight_decay: float = 0.0,
    input: str = "synthetic",
) -> Workload:
    """23,817,352 trainable parameters by default, softmax cross-entropy: a network of tensorflow/tensorflow#5683.

    Its optimiser is RMSProp with an epsilon of 1 and a learning rate of 0.045, as in the paper's section 8 and in the
    program that the report started from (`inception_distributed_train` of tensorflow/models), without its decay.
    With `auxiliary` the training head is there too, with the weight 0.4 that `slim` gives its loss. `input` is
    ``synthetic`` or ``host`` (copied to the device in every step).
    """
    return classifier(
        InceptionV3(classes, width, dropout, auxiliary, precision),
        batch_size=batch_size,
        image_size=image_size,
        classes=classes,
        input=input,
        weight_decay=weight_decay,
        loss=_loss_with_head if auxiliary else cross_entropy,
    )
