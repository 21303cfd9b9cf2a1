"""Models as users write them in Keras 3 and tf_keras."""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.base import Optimizer
from pytest_tfperf.workloads.keras_models import KerasModel
from pytest_tfperf.workloads.registry import workload
from tests.strategies.small_workloads import latest


def keras_data() -> Any:
    import numpy as np

    features = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
    return features, (features.sum(axis=1) > 0).astype("int32")


@workload("keras_dense", optimizer=Optimizer("adam", 0.01))
def keras_dense(width: int = 16) -> Any:
    """What a user writes: batch normalisation, dropout and a regulariser are all there."""
    import keras

    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(width, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(2),
        ]
    )
    return model, keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras_data()


@workload("keras_unbuilt", optimizer=Optimizer("adam", 0.01))
def keras_unbuilt() -> Any:
    """A model that has not seen a shape yet, a loss function that gives one value an example, a pipeline."""
    import keras
    import tensorflow as tf

    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2, activation="softmax")])
    data = tf.data.Dataset.from_tensor_slices(keras_data()).shuffle(32).batch(16, drop_remainder=True)
    return model, keras.losses.sparse_categorical_crossentropy, data


@workload("tf_keras_dense", optimizer=Optimizer("adam", 0.01))
def tf_keras_dense() -> Any:
    """The same in tf_keras."""
    import tf_keras

    model = tf_keras.Sequential(
        [
            tf_keras.layers.Dense(
                16, activation="relu", input_shape=(8,), kernel_regularizer=tf_keras.regularizers.L2(1e-3)
            ),
            tf_keras.layers.BatchNormalization(),
            tf_keras.layers.Dropout(0.1),
            tf_keras.layers.Dense(2),
        ]
    )
    latest["keras"] = model
    return model, tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras_data()


@workload("tf_keras_unbuilt", optimizer=Optimizer("adam", 0.01))
def tf_keras_unbuilt() -> Any:
    import tf_keras

    model = tf_keras.Sequential([tf_keras.layers.Dense(16, activation="relu"), tf_keras.layers.Dense(2)])
    return model, tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras_data()


def keras_state(step: Any) -> list[Any]:
    """Moving mean and variance of the Keras model that this process made last, read where its variables are."""
    import tensorflow as tf

    model = latest["keras"]
    found = getattr(model, "_state", None) or model.non_trainable_variables
    variables = [variable for variable in found if tuple(variable.shape) == (16,)]
    if hasattr(step, "_session"):
        return list(step._session.run(variables))
    return [tf.convert_to_tensor(variable).numpy() for variable in variables]


def remember_keras_models() -> None:
    """Have `keras_state` find the next Keras 3 model, whose variables the plugin makes."""
    original = KerasModel.__init__

    def remembering(self: KerasModel, weights: Any) -> None:
        original(self, weights)
        latest["keras"] = self

    KerasModel.__init__ = remembering  # type: ignore[method-assign]
