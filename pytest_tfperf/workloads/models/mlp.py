"""The multilayer perceptron of tensorflow/tensorflow#10145: fully connected layers, almost no arithmetic per byte.

A step of 18.9 million parameters on a batch of 128 takes a GPU under a millisecond, so that moving the parameters is
all a distributed step does.
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.checks import values
from pytest_tfperf.workloads.layers import Network
from pytest_tfperf.workloads.registry import workload


class Mlp(Network):
    """(n, features) to (n, outputs), ReLU after every layer, the last included, as `contrib.layers` had it.

    The last product is float32 whatever the precision.
    """

    def __init__(self, features: int, hidden: int, hidden_layers: int, outputs: int, precision: str) -> None:
        super().__init__(precision)
        sizes = [features, *[hidden] * hidden_layers]
        self._layers = [
            self.dense(f"dense_{i}", sizes[i], sizes[i + 1], precision=precision) for i in range(hidden_layers)
        ]
        self._layers.append(self.dense(f"dense_{hidden_layers}", sizes[-1], outputs))

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        for layer in self._layers:
            x = tf.nn.relu(layer(x))
        return x


def _squared_error(labels: Any, predictions: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_mean(tf.math.squared_difference(labels, predictions))


@workload("mlp", optimizer=Optimizer("adam", learning_rate=1e-4), check=values())
def mlp(
    *,
    batch_size: int = 128,
    features: int = 256,
    hidden: int = 4096,
    hidden_layers: int = 2,
    outputs: int = 256,
    precision: str = "float32",
    weight_decay: float = 0.0,
) -> Workload:
    """18,882,816 parameters by default, mean squared error against noise, a batch of noise made inside each step."""
    import tensorflow as tf

    def batch() -> Any:
        return tf.random.normal([batch_size, features]), tf.random.normal([batch_size, outputs])

    model = Mlp(features, hidden, hidden_layers, outputs, precision)
    loss_scale = 128.0 if precision == "float16" else 1.0
    return Workload(model, _squared_error, tf.autograph.experimental.do_not_convert(batch), loss_scale, weight_decay)
