"""From a workload's function to what a strategy trains: variables, a loss to differentiate, and batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads.autograph import converted
from pytest_tfperf.workloads.base import Workload, WorkloadDefinition
from pytest_tfperf.workloads.batches import (
    Batches,
    eager_batches,
    example_features,
    graph_batches,
    without_eager_tensors,
)
from pytest_tfperf.workloads.keras_models import KerasModel, KerasWeights, is_keras_3
from pytest_tfperf.workloads.layers import run_with_step

_OWN_MODELS = "pytest_tfperf.workloads.models."


@dataclass(frozen=True)
class Built:
    """A workload whose variables exist, in the context where it was built."""

    variables: tuple[Any, ...]
    """Its trainable variables, as TensorFlow's or as the strategy's whose scope it was built in."""
    loss: Callable[[Any, Any], Any]
    """`loss(features, labels)`: a forward pass in training mode, and the mean loss as a float32 scalar."""
    batches: Batches
    loss_scale: float
    fit: Callable[[Any, Any], Any]
    """`loss` without weight decay."""
    decay: Callable[[], list[Any]]
    """Makes the terms of weight decay, one a kernel, where it is called; none where the workload has no such."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The trainable variables as they are stored: what gradients and updates are made of.

        A sharded one is there as its shards; one that holds several, of which each is a slice, is there once.
        """
        found = {id(part): part for variable in self.variables for part in parts_of(variable)}
        return tuple(found.values())


def parts_of(variable: Any) -> tuple[Any, ...]:
    """The shards of a variable that is split over parameter servers, or the larger one that holds it; or itself."""
    shards = getattr(variable, "variables", None)  # a ShardedVariable's, whose class has no public name
    return tuple(shards) if isinstance(shards, (list, tuple)) else (variable,)


def _own_parts(variable: Any) -> tuple[Any, ...]:
    """The same, but for a slice: the rest of what it is stored in is not decayed with it."""
    return (variable,) if getattr(variable, "is_slice", False) else parts_of(variable)


def recipe(
    definition: WorkloadDefinition, params: Mapping[str, object], *, for_graph: bool = False
) -> Callable[[], Workload]:
    """A function that makes the workload anew in the context where it is called: a scope, or an old-style graph.

    Call `recipe` itself eagerly and outside of both, since Keras 3 models can be made only there: the user's
    function runs once here, and again in the context if it turns out not to have made such a model.

    Raises:
        UsageError: the user's function gives something else than a workload.
    """
    import tensorflow as tf

    if definition.build.__module__.startswith(_OWN_MODELS):
        return lambda: _call(definition, params)
    with tf.device("CPU:0"):
        workload = _call(definition, params)
        if not is_keras_3(workload.model):
            return lambda: _call(definition, params)
        weights = KerasWeights(workload.model, workload.batch)
        batch = without_eager_tensors(workload.batch) if for_graph else workload.batch
    return lambda: replace(workload, model=KerasModel(weights), batch=batch)


def build(workload: Workload, device: str) -> Built:
    """Make it ready for a step that is a `tf.function`; `device` holds the batch.

    Raises:
        UsageError: model or batch cannot be used.
    """
    return _build(workload, eager_batches(workload.batch, device))


def build_in_graph(workload: Workload, device: str) -> Built:
    """Make it ready for a step in the default, old-style graph; `device` is the worker's own, for the batch.

    Raises:
        UsageError: model or batch cannot be used.
    """
    return _build(workload, graph_batches(workload.batch, device))


def _build(workload: Workload, batches: Batches) -> Built:
    variables = _trainable_variables(workload)
    forward, loss_of = _writing_its_state(workload.model), converted(workload.loss)

    def fit(features: Any, labels: Any) -> Any:
        import tensorflow as tf

        features, labels = batches.as_made((features, labels))
        # Before the losses of layers are read: the forward pass makes them.
        value = _checked_loss(loss_of(labels, forward(features)))
        value = tf.reduce_mean(tf.cast(value, tf.float32))
        extra = [tf.cast(tf.reduce_sum(term), tf.float32) for term in getattr(workload.model, "losses", None) or ()]
        return tf.add_n([value, *extra]) if extra else value

    def decay() -> list[Any]:
        import tensorflow as tf

        if not workload.weight_decay:
            return []
        # Biases and the scales of batch normalisation, of one dimension, are not decayed (He et al. 2018,
        # arXiv:1812.01187, section 3.1).
        kernels = [part for variable in variables if len(variable.shape) >= 2 for part in _own_parts(variable)]
        return [workload.weight_decay * tf.cast(tf.nn.l2_loss(kernel), tf.float32) for kernel in kernels]

    def loss(features: Any, labels: Any) -> Any:
        import tensorflow as tf

        return tf.add_n([fit(features, labels), *decay()]) if workload.weight_decay else fit(features, labels)

    if hasattr(workload.loss, "_allow_sum_over_batch_size"):
        # tf_keras refuses to average over a replica's batch inside a strategy; replicas are averaged by us.
        workload.loss._allow_sum_over_batch_size = True
    return Built(variables, loss, batches, workload.loss_scale, fit, decay)


def _kind(made: object) -> str:
    """A type, for a message; of a tuple or a list also how many it holds, as that is what is wrong with it."""
    name = type(made).__name__
    return f"a {name} of {len(made)}" if isinstance(made, (tuple, list)) else name


def _checked_loss(value: Any) -> Any:
    """What a loss gave, if it is something to take the mean of."""
    import tensorflow as tf

    if value is None or isinstance(value, str) or tf.string == getattr(value, "dtype", None):
        what = "nothing" if value is None else "text"
        raise UsageError(
            f"The workload's loss(labels, outputs) gave {what}; it must give a number for each example, or their mean."
        )
    return value


def _call(definition: WorkloadDefinition, params: Mapping[str, object]) -> Workload:
    made = definition.build(**{key: value for key, value in params.items() if key != "xla"})
    if isinstance(made, (tuple, list)) and len(made) == 3:
        made = Workload(*made)
    if not isinstance(made, Workload):
        raise UsageError(
            f"Workload {definition.name!r} ({definition.place}) gave {_kind(made)}; it must give a tuple "
            "(model, loss, batch), or a Workload."
        )
    where = f"Workload {definition.name!r} ({definition.place})"
    if not callable(made.model):
        raise UsageError(f"{where}: its model cannot be called on features; it is a {type(made.model).__name__}.")
    if not callable(made.loss):
        raise UsageError(
            f"{where}: its loss must be a function loss(labels, outputs), not {made.loss!r}. "
            "A loss given by name in Keras is, for instance, keras.losses.MeanSquaredError()."
        )
    compiled_with = getattr(made.model, "optimizer", None) if hasattr(made.model, "compile") else None
    if compiled_with is not None:
        raise UsageError(
            f"{where}: its model is compiled with the optimizer {type(compiled_with).__name__}, "
            "which no strategy uses. Do not compile it, and give the update rule to the decorator: "
            '@workload(optimizer=Optimizer("adam", learning_rate=0.001)).'
        )
    return made


def _trainable_variables(workload: Workload) -> tuple[Any, ...]:
    """List them; a model that makes its variables when it is first called is called on zeros before."""
    model = workload.model
    variables = _listed(model)
    if not variables and _lists_variables(model):
        _in_training_mode(model)(example_features(workload.batch))
        variables = _listed(model)
    if not variables:
        raise UsageError(
            f"The workload's model, a {type(model).__name__}, has nothing to train: it needs a non-empty "
            "attribute `trainable_variables`, as a tf.Module and a Keras model have."
        )
    return variables


def _lists_variables(model: Any) -> bool:
    try:
        return hasattr(model, "trainable_variables")
    except ValueError:
        return True  # a Sequential of tf_keras has them from its first call on


def _listed(model: Any) -> tuple[Any, ...]:
    try:
        variables = tuple(model.trainable_variables)
    except (AttributeError, ValueError):
        return ()  # a Sequential of tf_keras raises ValueError before its first call
    # A model of a user's own that lists Keras 3 variables: their `value` is the `tf.Variable`, whose own is a method.
    return tuple(v.value if hasattr(v, "value") and not callable(v.value) else v for v in variables)


def _in_training_mode(model: Any) -> Callable[[Any], Any]:
    try:
        takes_training = "training" in inspect.signature(model).parameters or _is_tf_keras(model)
    except (TypeError, ValueError):
        takes_training = False
    call = converted(model)
    return (lambda features: call(features, training=True)) if takes_training else call


def _writing_its_state(model: Any) -> Callable[[Any], Any]:
    """The model in training mode, its moving averages written in each step.

    In an old-style graph tf_keras only lists the operations that write them, for its own `fit` to run.
    """
    forward = _in_training_mode(model)
    if not _is_tf_keras(model):
        return forward

    def run(features: Any) -> Any:
        import tensorflow as tf

        if tf.compat.v1.executing_eagerly_outside_functions():
            return forward(features)
        known = {id(update) for update in model.updates}
        outputs = forward(features)
        for update in model.updates:
            if id(update) not in known:
                run_with_step(update)
        return outputs

    return run


def _is_tf_keras(model: Any) -> bool:
    # Its __call__(*args, **kwargs) hides the argument, which every model of it takes.
    return any(base.__module__.startswith("tf_keras.") for base in type(model).__mro__)
