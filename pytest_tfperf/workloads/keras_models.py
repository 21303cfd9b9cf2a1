"""Keras 3 models under every strategy: the model as a pure function of variables that the strategy owns.

Keras 3 creates and assigns its variables itself, which the old graph mode does not know, and which fails inside a
replica's compiled function (its assigns aggregate over replicas). `Model.stateless_call` leaves both to the caller.
"""

from __future__ import annotations

from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads.batches import example_features
from pytest_tfperf.workloads.layers import run_with_step, state_variable


def is_keras_3(model: Any) -> bool:
    """True for a Keras 3 model; tf_keras models hold plain `tf.Variable`s and need nothing special."""
    return hasattr(model, "stateless_call")


class KerasWeights:
    """A Keras 3 model's values, read once where it was built, as arrays."""

    def __init__(self, model: Any, batch: Any) -> None:
        import keras

        if keras.config.backend() != "tensorflow":
            raise UsageError(
                f"This workload's Keras model runs on {keras.config.backend()}; set KERAS_BACKEND=tensorflow."
            )
        if not model.built:
            model(example_features(batch), training=True)
        self.model = model
        self.trainable = [(variable.path, variable.numpy()) for variable in model.trainable_variables]
        self.state = [(variable.path, variable.numpy()) for variable in model.non_trainable_variables]


class KerasModel:
    """The same model on `tf.Variable`s made in the current context: eager, a strategy's scope, or a graph."""

    def __init__(self, weights: KerasWeights) -> None:
        import tensorflow as tf

        self._model = weights.model
        self.trainable_variables = [tf.Variable(value, name=_name(path)) for path, value in weights.trainable]
        self._types = [value.dtype.name for _, value in weights.state]
        # Seeds are uint32, which no collective carries: hold whole numbers as int64.
        self._state = [
            state_variable(value, _name(path), averaged=True)
            if _is_float(value)
            else state_variable(value.astype("int64"), _name(path), averaged=False)
            for path, value in weights.state
        ]
        self.losses: list[Any] = []
        """Regularisation losses of the last call."""

    def __call__(self, features: Any) -> Any:
        import tensorflow as tf

        state = [tf.cast(tf.convert_to_tensor(v), dtype) for v, dtype in zip(self._state, self._types, strict=True)]
        outputs, new_state, self.losses = self._model.stateless_call(
            [tf.convert_to_tensor(variable) for variable in self.trainable_variables],
            state,
            features,
            training=True,
            return_losses=True,
        )
        for variable, old, new in zip(self._state, state, new_state, strict=True):
            if new is not old:
                run_with_step(variable.assign(tf.cast(new, variable.dtype), read_value=False))
        return outputs


def _is_float(value: Any) -> bool:
    # bfloat16 is a NumPy type of kind "V".
    return value.dtype.kind in "fV"


def _name(path: str) -> str:
    return path.replace(" ", "_")
