"""Workloads that a strategy refuses, each with its own fault."""

from __future__ import annotations

from typing import Any

from pytest_tfperf.workloads.registry import workload
from tests.strategies.keras_workloads import keras_data
from tests.strategies.small_workloads import Fixed, linear_data, squared_error


@workload("keras_compiled")
def keras_compiled() -> Any:
    import keras

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile(optimizer="adam", loss="mse")
    return model, keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras_data()


@workload("tf_keras_compiled")
def tf_keras_compiled() -> Any:
    import tf_keras

    model = tf_keras.Sequential([tf_keras.layers.Dense(2, input_shape=(8,))])
    model.compile(optimizer="sgd", loss="mse")
    return model, tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras_data()


@workload("returns_pair")
def returns_pair() -> Any:
    return Fixed(), squared_error


@workload("loss_by_name")
def loss_by_name() -> Any:
    return Fixed(), "mse", linear_data(0)


@workload("nothing_to_train")
def nothing_to_train() -> Any:
    return (lambda x: x), squared_error, linear_data(0)


@workload("frozen_batch")
def frozen_batch() -> Any:
    return Fixed(), squared_error, lambda: linear_data(0)


@workload("ragged_end")
def ragged_end() -> Any:
    import tensorflow as tf

    return Fixed(), squared_error, tf.data.Dataset.from_tensor_slices(linear_data(0)).batch(3)


@workload("batch_of_three")
def batch_of_three() -> Any:
    return Fixed(), squared_error, (1, 2, 3)


@workload("constant_loss")
def constant_loss() -> Any:
    import tensorflow as tf

    return Fixed(), lambda labels, outputs: tf.constant(1.0), linear_data(0)


@workload("loss_of_nothing")
def loss_of_nothing() -> Any:
    return Fixed(), lambda labels, outputs: None, linear_data(0)


@workload("loss_in_words")
def loss_in_words() -> Any:
    import tensorflow as tf

    return Fixed(), lambda labels, outputs: tf.constant("large"), linear_data(0)


@workload("empty_batch")
def empty_batch() -> Any:
    features, labels = linear_data(0)
    return Fixed(), squared_error, (features[:0], labels[:0])
