"""What the built-in image models share: their inputs, their loss, and how the parts make a `Workload`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_tfperf.records.cost import ModelCost
from pytest_tfperf.workloads.base import Workload
from pytest_tfperf.workloads.cifar_records import pipeline
from pytest_tfperf.workloads.layers import Network


def cross_entropy(labels: Any, logits: Any) -> Any:
    """Softmax cross-entropy, one value an example."""
    import tensorflow as tf

    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def cost_at(multiplications: float, **sizes: object) -> Callable[..., ModelCost | None]:
    """A `WorkloadDefinition.cost`: that many multiplications in an image's forward pass where all `sizes` are these."""

    def cost(**params: object) -> ModelCost | None:
        published = all(params[key] == value for key, value in sizes.items())
        return ModelCost(6 * multiplications) if published else None

    return cost


def classifier(
    model: Network,
    *,
    batch_size: int,
    image_size: int,
    classes: int,
    input: str = "synthetic",
    weight_decay: float = 0.0,
    records: int = 0,
    loss: Any = cross_entropy,
) -> Workload:
    """`model` on images of `image_size` squared and labels below `classes`.

    `input` is ``synthetic``: one batch of noise that stays on the device; ``host``: one that lies in the host's
    memory and is copied to the device in each step, as a fed batch is; or, where there are `records`, ``records``:
    that many images read from a file and augmented. The loss is scaled by 128 for float16.
    """
    loss_scale = 128.0 if model.precision == "float16" else 1.0
    if input == "records":
        batch = pipeline(records, batch_size)
    else:
        batch = _noise(batch_size, image_size, classes, model.precision, on_host=input == "host")
    return Workload(model, loss, batch, loss_scale, weight_decay)


def _noise(batch_size: int, image_size: int, classes: int, precision: str, *, on_host: bool) -> Any:
    """Images of N(0, 1) and labels, the same on every rank and in every run."""
    import tensorflow as tf

    def make(*_: Any) -> tuple[Any, Any]:
        images = tf.random.stateless_normal([batch_size, image_size, image_size, 3], seed=[1, 2])
        labels = tf.random.stateless_uniform([batch_size], seed=[3, 4], maxval=classes, dtype=tf.int32)
        return tf.cast(images, precision), labels

    if not on_host:
        return make()
    with tf.device("CPU:0"):
        # Made by the pipeline: a constant would travel with an old-style graph, which holds 2 GB at most.
        return tf.data.Dataset.range(1).map(tf.autograph.experimental.do_not_convert(make)).cache().repeat()
