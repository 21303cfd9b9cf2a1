"""Training steps of a Keras model: one `tf.function`, or Keras' own `fit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.alternatives.networks import gpt2, network, tf_models_resnet50
from benchmarks.alternatives.timing import FunctionSteps, Steps
from pytest_tfperf.workloads.base import Optimizer
from pytest_tfperf.workloads.registry import get

_POLICIES = {"float32": "float32", "float16": "mixed_float16", "bfloat16": "mixed_bfloat16"}
_LOSS_SCALE = 128.0
"""For float16, as of our workloads."""


def keras_steps(library: str, way: str, workload: str, params: Mapping[str, Any], where: str) -> tuple[Steps, int]:
    """Steps of a contestant by its name's two parts, and how many parameters they train.

    The batch lies on `where`, ``GPU:0`` or ``CPU:0``; `fit` too takes it from there, not from its dataset.
    """
    keras = _keras(library)
    _set_policy(keras, _POLICIES[params["precision"]])
    # The same noise on the same device as ours.
    batch = _batch(workload, params, where)
    if library == "keras_hub":
        model = gpt2(params)
    elif library == "tf-models":
        model = tf_models_resnet50(params)
    else:
        model = network(keras, workload, params)
    optimizer = optimizer_of(keras, get(workload).optimizer)
    jit = way.endswith("jit")
    if way.startswith("fit"):
        steps: Steps = _Fit(keras, model, optimizer, batch, jit)
    else:
        scale = _LOSS_SCALE if params["precision"] == "float16" else 1.0
        steps = FunctionSteps(_loop(model, optimizer, batch, scale, jit))
    return steps, sum(int(variable.shape.num_elements()) for variable in map(_tf_variable, model.trainable_variables))


def optimizer_of(keras: Any, rule: Optimizer) -> Any:
    """Keras' optimizer of the same kind and settings."""
    if rule.rule == "adam":
        return keras.optimizers.Adam(rule.learning_rate, rule.beta_1, rule.beta_2, rule.epsilon)
    if rule.rule == "rmsprop":
        return keras.optimizers.RMSprop(rule.learning_rate, rule.decay, rule.momentum, rule.epsilon)
    return keras.optimizers.SGD(rule.learning_rate, momentum=rule.momentum if rule.rule == "momentum" else 0.0)


def _keras(library: str) -> Any:
    if library in ("tf_keras", "tf-models"):
        import tf_keras

        return tf_keras
    import keras

    return keras


def _set_policy(keras: Any, policy: str) -> None:
    (keras.config.set_dtype_policy if hasattr(keras, "config") else keras.mixed_precision.set_global_policy)(policy)


def _batch(workload: str, params: Mapping[str, Any], where: str) -> tuple[Any, Any]:
    import tensorflow as tf

    with tf.device(where):
        if workload == "gpt2":
            tokens = tf.random.uniform(
                [params["batch_size"], params["sequence"] + 1], 0, params["vocabulary"], dtype=tf.int64
            )
            features = {"token_ids": tokens[:, :-1], "padding_mask": tf.ones_like(tokens[:, :-1])}
            return features, tokens[:, 1:]
        size = params["image_size"]
        images = tf.random.normal([params["batch_size"], size, size, 3])
        labels = tf.random.uniform([params["batch_size"]], 0, params["classes"], dtype=tf.int64)
        return tf.cast(images, params["precision"]), labels


def _loop(model: Any, optimizer: Any, batch: tuple[Any, Any], scale: float, jit: bool) -> Any:
    """Gradients and update in one function, the best that can be had of one device."""
    import tensorflow as tf

    features, labels = batch
    variables = model.trainable_variables
    optimizer.build(variables)

    @tf.function(jit_compile=True if jit else None)  # type: ignore[untyped-decorator,unused-ignore]
    def step() -> Any:
        with tf.GradientTape() as tape:
            logits = tf.cast(model(features, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
            scaled = loss * scale
        gradients = tape.gradient(scaled, [_tf_variable(variable) for variable in variables])
        if scale != 1.0:
            gradients = [gradient / scale for gradient in gradients]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return step


def _tf_variable(variable: Any) -> Any:
    """A Keras 3 variable's `tf.Variable`."""
    return variable.value if hasattr(variable, "value") and not callable(variable.value) else variable


class _Fit:
    """`Model.fit` over a dataset of nothing: the step takes its batch from the device, as everybody's here."""

    def __init__(self, keras: Any, model: Any, optimizer: Any, batch: tuple[Any, Any], jit: bool) -> None:
        import tensorflow as tf

        class Fitted(type(model)):  # type: ignore[misc]
            def train_step(self, data: Any) -> Any:
                return super().train_step(batch)

        model.__class__ = Fitted
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, jit_compile=jit)
        self._model = model
        self._nothing = tf.data.Dataset.from_tensors((0.0, 0.0)).repeat()

    def run(self, steps: int) -> float:
        # One epoch: `fit` reads its losses at the end, so that is where the host waits for the device.
        history = self._model.fit(self._nothing, steps_per_epoch=steps, epochs=1, verbose=0)
        return float(history.history["loss"][-1])
