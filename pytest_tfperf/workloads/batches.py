"""The three kinds of batch that a workload can have, as operations that give one step's batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.workloads.autograph import converted

NextBatch = Callable[[], tuple[Any, Any]]


@dataclass(frozen=True)
class Batches:
    """A replica's batches."""

    next: NextBatch
    """Called inside a step's function, or once while its graph is built: gives (features, labels) as tensors."""
    examples: int
    """Examples in every batch."""
    initializers: tuple[Any, ...] = ()
    """Operations that a session has to run before the first step; only in an old-style graph."""
    as_made: Callable[[tuple[Any, Any]], tuple[Any, Any]] = lambda pair: pair
    """From what `next` gives to the types that the workload made; to be called where the batch is used."""
    fixed: bool = False
    """Whether `next` gives the same tensors each time, made before, so that XLA can compile it with what uses them."""


def example_features(batch: Any) -> Any:
    """Features of zeros, of the batch's shapes and types: for building a model that has not seen any yet."""
    import tensorflow as tf

    features, _ = _specs(batch)
    return tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), features)


@dataclass(frozen=True)
class _SerializedDataset:
    """A dataset made eagerly, on its way into a graph, which cannot hold it."""

    graph: bytes
    element_spec: Any

    def restore(self) -> Any:
        import tensorflow as tf

        # Not a constant: TensorFlow would fold the dataset into one too, and a dataset cannot be a constant.
        graph = _local_variable(self.graph)
        with tf.control_dependencies([graph.initializer]):
            variant = tf.raw_ops.DatasetFromGraph(graph_def=graph.read_value())
        return tf.data.experimental.from_variant(variant, self.element_spec)


def without_eager_tensors(batch: Any) -> Any:
    """The same batch in a form that `graph_batches` takes in any graph; call it eagerly."""
    import tensorflow as tf

    if isinstance(batch, tf.data.Dataset):
        ignore_state = 1  # ExternalStatePolicy.POLICY_IGNORE: a pipeline's random position does not matter here
        variant = tf.data.experimental.to_variant(batch)
        graph = tf.raw_ops.DatasetToGraphV2(input_dataset=variant, external_state_policy=ignore_state)
        return _SerializedDataset(graph.numpy(), batch.element_spec)
    if callable(batch):
        return batch
    return tf.nest.map_structure(lambda value: tf.convert_to_tensor(value).numpy(), _pair(batch))


def eager_batches(batch: Any, device: str) -> Batches:
    """Batches for a step that is a `tf.function`; a fixed pair is put on `device` once.

    Raises:
        UsageError: the batch is of no known kind, or its number of examples is not fixed.
    """
    import tensorflow as tf

    examples = _examples(batch)
    if isinstance(batch, tf.data.Dataset):
        iterator = iter(batch.repeat())
        return Batches(lambda: _pair(next(iterator)), examples)
    if callable(batch):
        make = converted(batch)
        return Batches(lambda: _pair(make()), examples)
    with tf.device(device):
        # identity: convert_to_tensor leaves a tensor on the device where the user's function made it.
        made = tf.nest.map_structure(lambda value: tf.identity(tf.convert_to_tensor(value)), _pair(batch))
        if "GPU" not in device.upper():
            return Batches(lambda: made, examples, fixed=True)
        # TensorFlow keeps int32 tensors of a GPU in the host's memory. Each step would copy them to the GPU, behind all
        # that the GPU still has to do, and start its kernels only then.
        wide = tf.nest.map_structure(lambda value: tf.cast(value, tf.int64) if value.dtype == tf.int32 else value, made)
    types = tf.nest.map_structure(lambda value: value.dtype, made)
    return Batches(lambda: wide, examples, as_made=lambda pair: tf.nest.map_structure(tf.cast, pair, types), fixed=True)


def as_dataset(batch: Any) -> Any | None:
    """An endless `tf.data.Dataset` of the batches, for a strategy that sends one to each worker; None for a function.

    Raises:
        UsageError: the batch is of no known kind.
    """
    import tensorflow as tf

    if isinstance(batch, tf.data.Dataset):
        return batch.repeat()
    if callable(batch):
        return None
    return tf.data.Dataset.from_tensors(tf.nest.map_structure(tf.convert_to_tensor, _pair(batch))).repeat()


def graph_batches(batch: Any, device: str) -> Batches:
    """Batches for a step in the default, old-style graph; what they hold is kept on the worker's `device`.

    Raises:
        UsageError: the batch is of no known kind, or its number of examples is not fixed.
    """
    import tensorflow as tf

    with tf.device(device):
        if isinstance(batch, _SerializedDataset):
            batch = batch.restore()
        examples = _examples(batch)
        if isinstance(batch, tf.data.Dataset):
            iterator = tf.compat.v1.data.make_initializable_iterator(batch.repeat())
            pair = _pair(iterator.get_next())
            return Batches(lambda: pair, examples, (iterator.initializer,))
        if callable(batch):
            return Batches(lambda: _pair(batch()), examples)
        # Variables of the worker: as constants they would travel with the graph, and ops would run every step.
        variables = tf.nest.map_structure(_local_variable, _pair(batch))
        fixed = tf.nest.map_structure(tf.convert_to_tensor, variables)
    return Batches(lambda: fixed, examples, tuple(variable.initializer for variable in tf.nest.flatten(variables)))


def _local_variable(value: Any) -> Any:
    import tensorflow as tf

    return tf.compat.v1.Variable(
        tf.convert_to_tensor(value),
        trainable=False,
        collections=[tf.compat.v1.GraphKeys.LOCAL_VARIABLES],
        use_resource=True,
    )


def _traced_specs(batch: Callable[[], Any]) -> Any:
    """Shapes and types of what a user's batch function makes, without running its operations."""
    import tensorflow as tf

    made: list[Any] = []

    def trace() -> Any:
        made.append(batch())
        return made[-1]

    outputs = tf.function(trace).get_concrete_function().structured_outputs
    # Checked out here: what is raised while tracing gets TensorFlow's own text around it.
    for leaf in tf.nest.flatten(_pair(made[-1])):
        if not tf.is_tensor(leaf):
            raise UsageError(
                f"The workload's batch function gave a {type(leaf).__name__}. It is traced once, so that every step "
                "would get this same value: make the batch with TensorFlow ops, or give a fixed pair "
                "(features, labels), or a tf.data.Dataset."
            )
    return outputs


def _pair(value: Any) -> tuple[Any, Any]:
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return value[0], value[1]
    raise UsageError(
        "A workload's batch is a pair (features, labels), a function that makes such a pair with TensorFlow ops, "
        f"or a tf.data.Dataset of them; this one is {_shown(value)}."
    )


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{type(value).__module__}.{type(value).__name__}"


def _specs(batch: Any) -> tuple[Any, Any]:
    """Shapes and types of a batch, without making one where that can be avoided."""
    import tensorflow as tf

    if isinstance(batch, tf.data.Dataset):
        return _pair(batch.element_spec)
    if callable(batch):
        return _pair(_traced_specs(batch))
    return _pair(
        tf.nest.map_structure(lambda value: tf.type_spec_from_value(tf.convert_to_tensor(value)), _pair(batch))
    )


def _examples(batch: Any) -> int:
    import tensorflow as tf

    leaves = tf.nest.flatten(_specs(batch))
    first = leaves[0].shape if leaves else None
    if first is None or first.rank == 0:
        raise UsageError("A workload's features need a first axis that counts the examples of a batch.")
    if first.rank is None or first[0] is None:
        raise UsageError(
            f"The number of examples in a workload's batch is not fixed (features of shape {first}), so that "
            "examples per second cannot be counted: batch the dataset with drop_remainder=True."
        )
    if not first[0]:
        raise UsageError(f"A workload's batch has no example in it (features of shape {first}): was batch_size 0?")
    return int(first[0])
