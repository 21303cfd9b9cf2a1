"""What the TF 2 strategies share: the compiled halves of a step, and the step that runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.strategies.compression import Compression
from pytest_tfperf.strategies.facts import variable_facts
from pytest_tfperf.strategies.gradients import check_reached
from pytest_tfperf.strategies.optimizers import FusedUpdates
from pytest_tfperf.strategies.packing import Packing
from pytest_tfperf.workloads.building import Built

_MOST_STEPS = 1024
"""In a call; a tenth of them saves nearly all that calls cost."""

Gradients = Callable[[Any, Any], tuple[Any, Any]]
"""From features and labels to the loss and the gradients."""


def gradient_function(
    built: Built,
    *,
    xla: bool,
    pack: bool,
    packing: Packing | None = None,
    compression: Compression | None = None,
) -> Gradients:
    """A `tf.function` from (features, labels) to the loss and the gradients, still times the loss scale.

    Gradients come as a list in the order of the variables, or packed: one float32 vector of them all; with a
    `compression`, as that has them exchanged. `packing` is what the variables were made with, if they are slices.

    Raises:
        UsageError: some variable that is not to be trained was packed with some that are.
    """
    import tensorflow as tf

    if packing is not None:
        packing.check(built.variables)

    def gradients(features: Any, labels: Any) -> tuple[Any, Any]:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(built.parts)
            loss = built.loss(features, labels)
            scaled = loss * built.loss_scale
        found = tape.gradient(scaled, built.parts)
        check_reached(found)
        # Zeros: a variable that this loss does not reach gets a gradient too, so that shapes are always the same.
        dense = [
            tf.zeros(part.shape, part.dtype) if gradient is None else tf.convert_to_tensor(gradient)
            for gradient, part in zip(found, built.parts, strict=True)
        ]
        if packing is not None:
            packing.updates()  # moving averages
        if pack:
            dense = [tf.concat([tf.reshape(tf.cast(gradient, tf.float32), [-1]) for gradient in dense], axis=0)]
        if compression is not None:
            dense = [compression.compressed(gradient) for gradient in dense]
        return loss, dense[0] if pack else dense

    function: Gradients = tf.function(gradients, jit_compile=True if xla else None, autograph=False)
    return function


def update_function(
    updates: FusedUpdates, variables: Sequence[Any], *, xla: bool, packed: bool, divisor: float
) -> Callable[[Any], None]:
    """A `tf.function` that divides what `gradient_function` gave by `divisor` and applies it to `variables`."""
    import tensorflow as tf

    sizes = [int(variable.shape.num_elements()) for variable in variables]

    def update(gradients: Any) -> None:
        if packed:
            gradients = tf.cast(gradients, tf.float32)  # of a compressed exchange
            if divisor != 1.0:
                gradients = gradients / divisor
            parts = tf.split(gradients, sizes)
            gradients = [tf.cast(tf.reshape(p, v.shape), v.dtype) for p, v in zip(parts, variables, strict=True)]
        else:
            gradients = [tf.cast(gradient, v.dtype) for gradient, v in zip(gradients, variables, strict=True)]
            if divisor != 1.0:
                gradients = [gradient / divisor for gradient in gradients]
        updates.apply(gradients)

    function: Callable[[Any], None] = tf.function(update, jit_compile=True if xla else None, autograph=False)
    return function


def steps_per_call(strategy: str, options: Mapping[str, Scalar]) -> int:
    """The option of that name.

    Raises:
        UsageError: it is below 1, or more than anybody waits to see traced.
    """
    steps = cast("int", options.get("steps_per_call", 1))
    if steps < 1:
        raise UsageError(f"Strategy {strategy!r}: steps_per_call is 1 or more, not {steps}.")
    if steps > _MOST_STEPS:
        raise UsageError(
            f"Strategy {strategy!r}: steps_per_call is {_MOST_STEPS} at most, not {steps}, as each step is traced "
            "into the function anew."
        )
    return steps


def repeated(step: Callable[[], Any], steps: int) -> Callable[[], Any]:
    """A `tf.function` that runs `step` so many times, one after the other, and gives what the last one gives."""
    import tensorflow as tf

    def call() -> Any:
        for _ in range(steps):
            result = step()
        return result

    function: Callable[[], Any] = tf.function(call, autograph=False)
    return function


class EagerStep:
    """A step that is one `tf.function`. Calling it comes back as soon as its kernels are launched.

    `function` gives the replica's loss, or writes that of each replica of this process to one of `loss_variables`;
    `examples` are those of one replica, and `variables` those of the first.
    """

    updates_per_step = 1

    def __init__(
        self,
        function: Callable[[], Any],
        examples: int,
        updates: FusedUpdates,
        variables: Sequence[Any],
        *,
        replicas: int = 1,
        loss_variables: Sequence[Any] = (),
        gradients: Callable[[], tuple[Any, Any]] | None = None,
        steps_per_call: int = 1,
    ) -> None:
        """`loss_variables` are each on its replica's device; `gradients` gives loss and gradients of a batch without
        any communication, where that can be had; `steps_per_call` says how many steps `function` makes, of which it
        gives the last one's loss.
        """
        self._function = function
        self._gradients = gradients
        self._loss_variables = tuple(loss_variables)
        self._latest: tuple[Any, ...] = ()
        self._updates = updates
        self._variables = variables
        self.replicas = replicas
        self.examples_per_step = replicas * examples
        self.steps_per_call = steps_per_call

    def trace(self) -> bool:
        # Functions within are traced with it. Its call without arguments finds what is traced here.
        get_concrete_function = getattr(self._function, "get_concrete_function", None)
        if get_concrete_function is None:
            return False
        get_concrete_function()
        return True

    def run(self, times: int = 1) -> None:
        function = self._function
        for _ in range(times):
            loss = function()
        self._latest = self._loss_variables or (loss,)

    def wait(self) -> float:
        if not self._latest:
            return float("nan")
        # A loss is there after its replica's updates, and each device keeps the order of steps.
        return sum(float(loss) for loss in self._latest) / len(self._latest)

    def updates(self) -> int:
        return int(self._updates.count)

    def alone(self) -> Callable[[], None] | None:
        if self._gradients is None:
            return None
        import tensorflow as tf

        # Made only now: tracing it costs what nobody waits for. The compiled gradients inside are those of the step.
        # All of them are given back, or TensorFlow would leave out what makes those that are not.
        function = tf.function(self._gradients, autograph=False)

        def run() -> None:
            loss, _ = function()
            float(loss)

        return run

    def weights(self) -> list[Any]:
        return [variable.numpy() for variable in self._variables]

    def facts(self) -> Mapping[str, str]:
        return variable_facts(self._variables)

    def close(self) -> None:
        self._latest = ()
