"""What the spawned processes do, and the workloads they train."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

from pytest_tfperf.records.task import Task, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads
from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.keras_models import KerasModel
from pytest_tfperf.workloads.layers import Network
from pytest_tfperf.workloads.registry import workload


def seed() -> None:
    """Start every training from the same weights: from some, a loss rises for a while before it falls."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(1)


def train(
    task: Task,
    *,
    strategy: str,
    name: str,
    steps: int,
    replicas: int = 1,
    params: dict[str, Any] | None = None,
    look: Callable[[Any], Any] | None = None,
    **options: Any,
) -> dict[str, Any] | None:
    """Train `steps` steps, as the measurement does, and tell what came of it, and what `look` sees in the step."""
    seed()
    chosen, definition = strategies.get(strategy), workloads.get(name)
    step = chosen.build(
        task,
        definition,
        workloads.resolve_params(definition, params or {}),
        strategies.resolve_options(chosen, options),
        "cpu",
        replicas,
    )
    if step is None:
        return None
    before = step.weights()
    losses = []
    for _ in range(steps):
        step.run()
        losses.append(step.wait())
    trained = [TaskId(chosen.measured_job, index) for index in range(len(task.cluster[chosen.measured_job]))]
    task.exchange("trained", None, trained)
    result = {
        "losses": losses,
        "updates": step.updates(),
        "before": before,
        "after": step.weights(),
        "examples": step.examples_per_step,
        "replicas": step.replicas,
        "facts": dict(step.facts()),
        "seen": None if look is None else look(step),
    }
    step.close()
    return result


def train_each(task: Task, *, runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Several trainings in one process, since starting TensorFlow takes longer than they do."""
    return {key: train(task, **run) for key, run in runs.items()}


def train_one_of(task: Task, *, runs: list[dict[str, Any]]) -> Any:
    """This process's training of several, for a strategy of which a process can have one only."""
    return train(task, **runs[task.id.index])


def inspect_models(task: Task, *, models: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Names and shapes of the built-in models' trainable variables, and what half precision does to ResNet-50."""
    shapes: dict[str, Any] = {precision: half_precision(precision) for precision in ("bfloat16", "float16")}
    for name, params in models.items():
        made = workloads.get(name).build(**params)
        shapes[name] = [(v.name, tuple(v.shape.as_list())) for v in made.model.trainable_variables]
    return shapes


def half_precision(precision: str) -> tuple[str, float, set[str], float]:
    """ResNet-50 in half precision, one forward pass: type and mean of the logits, types of variables, loss scale."""
    import tensorflow as tf

    made = workloads.get("resnet50").build(batch_size=2, image_size=32, classes=10, precision=precision)
    logits = made.model(made.batch[0])
    types = {variable.dtype.name for variable in made.model.trainable_variables + made.model.state}
    return logits.dtype.name, float(tf.reduce_mean(tf.abs(logits))), types, made.loss_scale


def build_errors(task: Task, *, names: list[str], strategy: str) -> dict[str, str]:
    """What building each of the workloads raises, as text."""
    texts = {}
    for name in names:
        try:
            train(task, strategy=strategy, name=name, steps=1)
            texts[name] = "nothing was raised"
        except Exception as error:
            texts[name] = f"{type(error).__name__}: {error}"
    return texts


def operations_of_a_step(task: Task, *, name: str, options: dict[str, Any]) -> set[str]:
    """What one step of two towers really ran, each as ``device name``, by TensorFlow's own trace."""
    import tensorflow as tf

    strategy, definition = strategies.get("tower"), workloads.get(name)
    params = workloads.resolve_params(definition, {})
    step: Any = strategy.build(task, definition, params, strategies.resolve_options(strategy, options), "cpu", 2)
    trace = tf.compat.v1.RunMetadata()
    full = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    step._session.run(step._fetches, options=full, run_metadata=trace)
    return {f"{device.device} {node.node_name}" for device in trace.step_stats.dev_stats for node in device.node_stats}


def moving_averages(task: Task, *, steps: int) -> dict[str, Any]:
    """Moving averages of `normalised` before and after training in this process, with and without XLA."""
    result = {}
    for xla in (False, True):
        train(task, strategy="single", name="normalised", steps=0, params={"xla": xla})
        before = [variable.numpy() for variable in latest["model"].state]
        train(task, strategy="single", name="normalised", steps=steps, params={"xla": xla})
        result[str(xla)] = (before, [variable.numpy() for variable in latest["model"].state])
    return result


def graph_state(task: Task, *, steps: int, ps: int) -> Any:
    """The same under parameter servers, read from them by worker 0; and where its trainable variables lie."""
    chosen, definition = strategies.get("ps_async"), workloads.get("normalised")
    step: Any = chosen.build(
        task,
        definition,
        workloads.resolve_params(definition, {}),
        strategies.resolve_options(chosen, {"ps": ps}),
        "cpu",
        1,
    )
    if step is None:
        return None
    for _ in range(steps):
        step.run()
    return step._session.run(list(latest["model"].state)), [v.device for v in latest["model"].trainable_variables]


def linear_data(rank: int | None, examples: int = 8) -> tuple[Any, Any]:
    """A fixed regression problem; the data of one rank, or those of ranks 0 and 1 in one batch."""
    import numpy as np

    if rank is None:
        parts = [linear_data(r, examples) for r in (0, 1)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    random = np.random.default_rng(rank)
    features = random.normal(size=(examples, 4)).astype("float32")
    return features, (features @ np.array([[1.0], [-2.0], [3.0], [0.5]]) + 0.7).astype("float32")


def squared_error(labels: Any, outputs: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_sum(tf.math.squared_difference(labels, outputs), axis=-1)


class Fixed:
    """A linear model that starts at zero, as a plain class of a user's own."""

    def __init__(self) -> None:
        import tensorflow as tf

        self.kernel = tf.Variable(tf.zeros([4, 1]))
        self.bias = tf.Variable(tf.zeros([1]))
        self.trainable_variables = [self.kernel, self.bias]

    def __call__(self, x: Any) -> Any:
        import tensorflow as tf

        return tf.matmul(x, self.kernel) + self.bias


def _fixed(joint: bool) -> Any:
    return Fixed(), squared_error, linear_data(None if joint else int(os.environ["TEST_RANK"]))


@workload("linear_sgd", optimizer=Optimizer("sgd", 0.05))
def linear_sgd(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_momentum", optimizer=Optimizer("momentum", 0.05))
def linear_momentum(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_adam", optimizer=Optimizer("adam", 0.05))
def linear_adam(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_rmsprop", optimizer=Optimizer("rmsprop", 0.05, momentum=0.8, epsilon=0.5, decay=0.7))
def linear_rmsprop(joint: bool = False) -> Any:
    return _fixed(joint)


@workload("linear_scaled", optimizer=Optimizer("sgd", 0.05))
def linear_scaled(joint: bool = False) -> Any:
    model, loss, batch = _fixed(joint)
    return Workload(model, loss, batch, loss_scale=1024.0)


@workload("linear_decayed", optimizer=Optimizer("momentum", 0.05))
def linear_decayed() -> Any:
    model, loss, batch = _fixed(joint=False)
    return Workload(model, loss, batch, weight_decay=0.5)


@workload("constant_gradient", optimizer=Optimizer("sgd", 1.0))
def constant_gradient() -> Any:
    """A weight whose gradient is 1 everywhere, whatever it is by now."""
    import numpy as np
    import tensorflow as tf

    class Weight:
        def __init__(self) -> None:
            self.trainable_variables = [tf.Variable(tf.zeros([1000]))]

        def __call__(self, x: Any) -> Any:
            return tf.reduce_sum(self.trainable_variables[0]) + tf.zeros_like(x)

    return Weight(), lambda labels, outputs: tf.reduce_mean(outputs), (np.zeros([8], "float32"), np.zeros([8]))


_replicas_built = itertools.count()


@workload("linear_by_replica", optimizer=Optimizer("momentum", 0.05))
def linear_by_replica(weight_decay: float = 0.0) -> Any:
    """For two replicas of one process: each trains on the data of its own rank."""
    import tensorflow as tf

    data = [linear_data(rank) for rank in (0, 1)]

    def batch() -> Any:
        context = tf.distribute.get_replica_context() if tf.distribute.has_strategy() else None
        if context is not None:
            rank = int(tf.get_static_value(context.replica_id_in_sync_group))
        else:  # a tower's graph, but for a look at the shapes
            rank = 0 if tf.inside_function() else next(_replicas_built) % 2
        return tuple(tf.constant(part) for part in data[rank])

    return Workload(Fixed(), squared_error, batch, weight_decay=weight_decay)


@workload("linear_rmsprop_by_replica", optimizer=linear_rmsprop.optimizer)
def linear_rmsprop_by_replica() -> Any:
    return linear_by_replica()


class NormalisedConv(Network):
    def __init__(self, precision: str) -> None:
        super().__init__(precision)
        self._conv = self.conv("conv", 3, 4, 3)
        self._norm = self.batch_norm("norm", 4)
        self._head = self.dense("head", 4, 3)

    def __call__(self, x: Any) -> Any:
        import tensorflow as tf

        x = tf.nn.relu(self._norm(self._conv(tf.cast(x, self.precision))))
        return self._head(tf.cast(tf.reduce_mean(x, axis=[1, 2]), tf.float32))


latest: dict[str, Any] = {}
"""The last models that `normalised` and Keras made in this process, for looking at their moving averages."""


@workload("normalised", optimizer=Optimizer("momentum", 0.05))
def normalised(precision: str = "float32") -> Any:
    """Batch normalisation, and a batch made by a function inside each step."""
    import tensorflow as tf

    def batch() -> Any:
        images = tf.random.normal([6, 8, 8, 3], mean=5.0)
        return images, tf.reduce_mean(images, axis=[1, 2]) - 5.0

    latest["model"] = NormalisedConv(precision)
    return latest["model"], squared_error, batch


@workload("piped", optimizer=Optimizer("sgd", 0.05))
def piped() -> Any:
    """A tf.data pipeline whose batches differ: 3 of them, over and over."""
    import tensorflow as tf

    features, labels = linear_data(0, examples=12)
    data = tf.data.Dataset.from_tensor_slices((features, labels)).batch(4, drop_remainder=True).prefetch(1)
    return Fixed(), squared_error, data


@workload("captured", optimizer=Optimizer("sgd", 0.05))
def captured() -> Any:
    """A batch function that makes each batch from a tensor made before, and a wrapper that lists Keras variables."""
    import keras
    import tensorflow as tf

    layer = keras.layers.Dense(1)
    layer.build((None, 4))

    class Wrapped:
        trainable_variables = layer.trainable_variables

        def __call__(self, x: Any) -> Any:
            return layer(x)

    features, labels = (tf.constant(part) for part in linear_data(0))

    def batch() -> Any:
        rows = tf.random.shuffle(tf.range(8))[:6]
        return tf.gather(features, rows), tf.gather(labels, rows)

    return Wrapped(), squared_error, batch


@workload("branching", optimizer=Optimizer("sgd", 0.05))
def branching() -> Any:
    """Model, loss and batch function with Python control flow over tensors, which TensorFlow alone cannot trace."""
    import tensorflow as tf

    class Branching(Fixed):
        def __call__(self, x: Any) -> Any:
            outputs = super().__call__(x)
            if tf.reduce_sum(x) > 1e9:
                outputs = tf.zeros_like(outputs)
            return outputs

    def loss(labels: Any, outputs: Any) -> Any:
        total = tf.constant(0.0)
        for row in tf.range(tf.shape(labels)[0]):
            total += squared_error(labels, outputs)[row]
        return total / 8.0

    def batch() -> Any:
        features, labels = (tf.constant(part) for part in linear_data(int(os.environ["TEST_RANK"])))
        scale = tf.constant(1.0)
        while scale < 4.0:
            scale *= 2.0
        return features * scale / 4.0, labels

    return Branching(), loss, batch


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
