"""Many variables as slices of a few large ones, so that as much is done with them in few operations.

TensorFlow sends every variable that lies on a parameter server in a transfer of its own, and each gradient back in
another. A network of hundreds of small variables then waits for round trips, not for bytes: packed, it does not. A
compiled function takes each of its variables as an argument, which costs the host some microseconds a call, in which a
GPU that waits for the call does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from pytest_tfperf.errors import UsageError
from pytest_tfperf.strategies.variable_like import VariableLike, register

Creator = Callable[..., Any]


class Slice(VariableLike):
    """A part of a flat variable. One that is not trained may be written once a step, by the difference to it."""

    why = "a slice of a larger one (placement='packed', pack_variables=True)"
    is_slice = True
    """Of the variable in `variables`, which others have their parts of too."""

    def __init__(self, packing: Packing, name: str, initial: Any, *, trainable: bool) -> None:
        super().__init__(name, initial.dtype, initial.shape)
        self._packing = packing
        self.initial = initial
        self.trainable = trainable

    @property
    def variables(self) -> list[Any]:
        """The variable that has it, as the shards of a split one."""
        return [self._packing.flat_of(self).variable]

    def read(self) -> Any:
        return self._packing.flat_of(self).read(self)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract in every step; what does it is in `Packing.updates`. Gives the new value."""
        import tensorflow as tf

        change = tf.convert_to_tensor(delta)
        self._packing.flat_of(self).deltas[id(self)] = change
        return self.read() - change

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """The same for a new value. In between another worker's change is kept, where a whole variable loses it."""
        return self.assign_sub(self.read() - value)


class _Flat:
    """A variable with its slices, read once in a graph: in a session's, or in that of each function."""

    def __init__(self, slices: Sequence[Slice], make: Creator, kwargs: dict[str, Any]) -> None:
        import tensorflow as tf

        self.slices = slices
        self.deltas: dict[int, Any] = {}
        initial = tf.concat([tf.reshape(each.initial, [-1]) for each in slices], axis=0)
        self.variable = make(**{**kwargs, "initial_value": initial, "name": "packed", "shape": None})
        for each in slices:
            each.initial = None  # or there would be two of each in the device's memory
        self._in_functions: WeakKeyDictionary[Any, Mapping[int, Any]] = WeakKeyDictionary()
        self._in_session = None if tf.compat.v1.executing_eagerly_outside_functions() else self._values()

    def _values(self) -> Mapping[int, Any]:
        import tensorflow as tf

        # One split, whose gradient is one concatenation.
        sizes = [int(each.shape.num_elements()) for each in self.slices]
        pieces = tf.split(self.variable.value(), sizes)
        return {id(each): tf.reshape(piece, each.shape) for each, piece in zip(self.slices, pieces, strict=True)}

    def read(self, part: Slice) -> Any:
        import tensorflow as tf

        if self._in_session is not None:
            return self._in_session[id(part)]
        if tf.executing_eagerly():
            return self._values()[id(part)]
        graph = tf.compat.v1.get_default_graph()
        if graph not in self._in_functions:
            self._in_functions[graph] = self._values()
        return self._in_functions[graph][id(part)]

    def update(self) -> Any:
        """Write what was assigned to slices since the last call.

        Raises:
            UsageError: it was assigned in a graph of its own, such as that of a condition.
        """
        import tensorflow as tf

        deltas, self.deltas = self.deltas, {}
        here = tf.compat.v1.get_default_graph()
        for each in self.slices:
            if getattr(deltas.get(id(each)), "graph", here) is not here:
                raise UsageError(
                    f"Variable {each.name!r} is {each.why}, and is written inside a condition, a loop or a tf.function "
                    "of the model, from where a slice cannot be: leave its variables unpacked."
                )
        zero = {id(each): tf.zeros([int(each.shape.num_elements())], each.dtype) for each in self.slices}
        parts = [tf.reshape(deltas.get(id(each), zero[id(each)]), [-1]) for each in self.slices]
        return self.variable.assign_sub(tf.concat(parts, axis=0), read_value=False)


class Packing:
    """Makes `tf.Variable(...)` give slices, in the scope of `variable_creator_scope(packing.create)`.

    A flat variable is made when one of its slices is first used, of all variables that were made until then: one for
    each server, type, and whether it is trained. So a model that uses a layer before it makes the next is packed layer
    by layer. Variables that are neither trained nor made by `layers.state_variable` stay what they are, and so do
    whole numbers.
    """

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self._waiting: list[tuple[Slice, Creator, dict[str, Any]]] = []
        self._flats: dict[int, _Flat] = {}

    def create(self, next_creator: Creator, **kwargs: Any) -> Any:
        import tensorflow as tf

        trainable = kwargs.get("trainable") is not False
        if not trainable and kwargs.get("synchronization") != tf.VariableSynchronization.ON_READ:
            return next_creator(**kwargs)
        register()
        initial = kwargs["initial_value"]
        # Out of the graph in which tf_keras looks what shapes its layers give.
        with tf.init_scope():
            value = tf.convert_to_tensor(initial() if callable(initial) else initial, dtype=kwargs.get("dtype"))
        if not value.dtype.is_floating:
            return next_creator(**{**kwargs, "initial_value": value})
        part = Slice(self, kwargs.get("name") or "Variable", value, trainable=trainable)
        self._waiting.append((part, next_creator, kwargs))
        return part

    def flat_of(self, part: Slice) -> _Flat:
        if id(part) not in self._flats:
            self.complete()
        return self._flats[id(part)]

    def complete(self) -> None:
        """Make the flat variables of the slices that have none yet."""
        import tensorflow as tf

        waiting, self._waiting = self._waiting, []
        groups: dict[tuple[bool, str], list[tuple[Slice, Creator, dict[str, Any]]]] = {}
        for each in waiting:
            groups.setdefault((not each[0].trainable, each[0].dtype.name), []).append(each)
        with tf.init_scope():
            for _, group in sorted(groups.items(), key=lambda item: item[0]):
                for share in _shares([part for part, _, _ in group], self._servers):
                    # Creator and arguments of any one: they differ in name, shape and start alone.
                    flat = _Flat(share, group[0][1], group[0][2])
                    self._flats.update({id(part): flat for part in share})

    def check(self, trained: Sequence[Any]) -> None:
        """Call it with the model's trainable variables when all flat variables are made.

        Raises:
            UsageError: some slice is not among them, and lies in one variable with some that are: it would be trained.
        """
        listed = {id(variable) for variable in trained}
        for flat in self._each_flat():
            frozen = [each for each in flat.slices if each.trainable and id(each) not in listed]
            if 0 < len(frozen) < len(flat.slices):
                raise UsageError(
                    f"Variable {frozen[0].name!r} is {frozen[0].why}, which is trained as a whole, and is not among "
                    "the model's trainable variables: make it with trainable=False, or leave variables unpacked."
                )

    def updates(self) -> list[Any]:
        """Operations that write, in every step, what was assigned to slices; inside of the function that assigned."""
        return [flat.update() for flat in self._each_flat() if flat.deltas]

    def _each_flat(self) -> Iterable[_Flat]:
        return {id(flat): flat for flat in self._flats.values()}.values()


@contextmanager
def packed_variables(used: bool) -> Iterator[Packing | None]:
    """Within, `tf.Variable(...)` gives slices of one variable a type, if `used`; gives what makes them, or None."""
    if not used:
        yield None
        return
    import tensorflow as tf

    packing = Packing(1)
    with tf.variable_creator_scope(packing.create):
        yield packing
        packing.complete()


def _shares(parts: Sequence[Slice], servers: int) -> list[list[Slice]]:
    """Deal parts out so that each server has about as many numbers: each to the one that has fewest so far."""
    shares: list[list[Slice]] = [[] for _ in range(servers)]
    loads = [0] * servers
    for part in parts:
        server = loads.index(min(loads))
        shares[server].append(part)
        loads[server] += int(part.shape.num_elements())
    return [share for share in shares if share]
