"""Which parameter server holds which variable, underneath a model that knows nothing of servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.strategies.graph_step import read_once
from pytest_tfperf.strategies.packing import Packing
from pytest_tfperf.strategies.variable_like import VariableLike, register

PLACEMENTS = ("round_robin", "greedy", "partitioned", "packed")

MIN_SHARD_BYTES = 256 << 10
"""A variable is split into shards of at least this; `tf.distribute`'s own default for a MinSizePartitioner."""


def check_placement(strategy: str, placement: object) -> None:
    """Raises UsageError where `placement` is not one of `PLACEMENTS`."""
    if placement not in PLACEMENTS:
        raise UsageError(f"Strategy {strategy!r}: placement is {', '.join(PLACEMENTS)}, not {placement!r}.")


class GreedyByBytes:
    """A `ps_strategy` for `replica_device_setter`: each variable goes to the server with the fewest bytes so far.

    What `tf.contrib.training.GreedyLoadBalancingStrategy` with `byte_size_load_fn` was, which ended with TensorFlow 1.
    """

    def __init__(self, servers: int) -> None:
        self.loads = [0] * servers

    def __call__(self, op: Any) -> int:
        import tensorflow as tf

        server = self.loads.index(min(self.loads))
        size = tf.TensorShape(op.get_attr("shape")).num_elements() or 0
        self.loads[server] += size * op.get_attr("dtype").size
        return server


@contextmanager
def placed(placement: str, servers: int, worker: str, cluster: Any) -> Iterator[Packing]:
    """In the default, old-style graph: variables made here go to the servers, all other operations to `worker`.

    ``round_robin`` deals variables out by count, as `replica_device_setter` does by default. ``greedy`` balances
    bytes. ``partitioned`` does so too, and splits large variables along their first axis. ``packed`` makes variables
    slices of one flat variable a server, moving averages of another; what it gives has the updates of those.
    """
    import tensorflow as tf

    strategy: Callable[[Any], int] | None = None if placement == "round_robin" else GreedyByBytes(servers)
    setter = tf.compat.v1.train.replica_device_setter(worker_device=worker, cluster=cluster, ps_strategy=strategy)
    packing = Packing(servers)
    with ExitStack() as stack:
        stack.enter_context(tf.compat.v1.get_default_graph().device(setter))
        stack.enter_context(tf.variable_creator_scope(read_once(worker)))
        if placement == "partitioned":
            stack.enter_context(tf.variable_creator_scope(_sharding_creator(servers)))
        if placement == "packed":
            stack.enter_context(tf.variable_creator_scope(packing.create))
        yield packing


class Sharded(VariableLike):
    """A variable in pieces along its first axis that reads as one tensor.

    `tf.distribute`'s own ShardedVariable cannot serve: it adds an uninitialised variable of the full size, meant for
    saving, to the graph, where it would take a place on a server and fail the check of what is initialised.
    """

    why = "split over parameter servers (placement='partitioned')"

    def __init__(self, name: str, variables: Sequence[Any]) -> None:
        import tensorflow as tf

        rows = sum(int(v.shape[0]) for v in variables)
        super().__init__(name, variables[0].dtype, tf.TensorShape([rows, *variables[0].shape[1:]]))
        self.variables = list(variables)

    def read(self) -> Any:
        import tensorflow as tf

        return tf.concat([variable.value() for variable in self.variables], axis=0)


def _sharding_creator(servers: int) -> Callable[..., Any]:
    """Makes `tf.Variable(...)` give a sharded variable where it is large."""
    import tensorflow as tf

    register()
    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(MIN_SHARD_BYTES, max_shards=servers)

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        initial = kwargs["initial_value"]
        value = tf.convert_to_tensor(initial() if callable(initial) else initial, dtype=kwargs.get("dtype"))
        # What is not trained is written in a step, which a sharded variable cannot be; it is small anyway.
        whole = not value.shape.rank or kwargs.get("trainable") is False
        count = 1 if whole else partitioner(value.shape, value.dtype)[0]
        if count == 1:
            return next_creator(**{**kwargs, "initial_value": value})
        rows, extra = divmod(value.shape[0], count)
        pieces = tf.split(value, [rows + 1] * extra + [rows] * (count - extra))
        name = kwargs.get("name") or "Variable"
        return Sharded(
            name,
            [
                next_creator(**{**kwargs, "initial_value": piece, "name": f"{name}/part_{index}"})
                for index, piece in enumerate(pieces)
            ],
        )

    return create
