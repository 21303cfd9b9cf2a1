"""What a workload is: model, loss, batch and optimiser, defined once and run under every strategy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.cost import ModelCost

Rule = Literal["sgd", "momentum", "adam", "rmsprop"]


@dataclass(frozen=True)
class Optimizer:
    """Which update rule to apply; each strategy realises it with TensorFlow's own fused update ops."""

    rule: Rule = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.9
    """For the rules ``momentum`` and ``rmsprop``."""
    beta_1: float = 0.9
    beta_2: float = 0.999
    """These two are for the rule ``adam``."""
    epsilon: float = 1e-8
    """Keeps ``adam`` and ``rmsprop`` from dividing by zero; the latter adds it under the root."""
    decay: float = 0.9
    """For the rule ``rmsprop``: of its mean of squares, which starts at one, as TensorFlow 1 had it."""

    def __post_init__(self) -> None:
        """Raises UsageError for a rule that there is not: strategies must not each take another one for it."""
        if self.rule not in get_args(Rule):
            raise UsageError(f"An Optimizer's rule is one of {', '.join(get_args(Rule))}, not {self.rule!r}.")


@dataclass(frozen=True)
class Workload:
    """A workload as its function built it, inside a task."""

    model: Callable[..., Any]
    """Called on a batch's features; has `trainable_variables` (a `tf.Module` or a Keras model)."""
    loss: Callable[[Any, Any], Any]
    """`loss(labels, outputs)` gives a scalar tensor, or one value per example, which is averaged."""
    batch: Any
    """One replica's batch: a pair (features, labels) of tensors or arrays that stays on the device; a function
    of TensorFlow ops that makes such a pair inside each step; or a `tf.data.Dataset` of them, batched with
    `drop_remainder=True`. The first axis counts examples."""
    loss_scale: float = 1.0
    """Factor on the loss before differentiation, divided out of the float32 gradients again: keeps small
    gradients of a float16 model above zero (Micikevicius et al. 2018, arXiv:1710.03740)."""
    weight_decay: float = 0.0
    """L2 regulariser: this times half the sum of squares of every kernel (trainable variables of two dimensions or
    more) is added to the loss."""


@dataclass(frozen=True)
class WorkloadDefinition:
    """A registered workload: how to build it and what can be set about it. Holds no TensorFlow object.

    Calling it calls the decorated function. It has no ``__name__`` on purpose: pytest takes a mark's only
    argument for the test to be marked if that is callable and has one, and ``mark.tfperf(my_workload)`` must work.
    """

    name: str
    build: Callable[..., Any]
    """The user's function; gives a `Workload` or a tuple (model, loss, batch). It may be called more than
    once in a task: Keras models are built outside a strategy's scope or graph, all others inside."""
    params: Mapping[str, object]
    """Keyword parameters of `build` with their defaults, and `xla`, which every workload has."""
    optimizer: Optimizer = field(default_factory=Optimizer)
    cost: Callable[..., ModelCost | None] | None = None
    """What an example takes by the model's definition: a function of the same keyword parameters as `build`, None for
    sizes of which it is not known; or None altogether."""
    check: Callable[..., None] | None = None
    """Raises UsageError for values that cannot be had, in one line that names parameter, value and what is allowed: a
    function of the same keyword parameters as `build`. A marker is checked with it, where there is no TensorFlow."""

    def cost_of(self, params: Mapping[str, object]) -> ModelCost | None:
        """The `cost` of the workload with these parameters; None where it is not known."""
        if self.cost is None:
            return None
        return self.cost(**{key: value for key, value in params.items() if key != "xla"})

    def check_params(self, params: Mapping[str, object]) -> None:
        """Ask the `check` of the workload, where it has one.

        Raises:
            UsageError: a value cannot be had; the message names the workload too.
        """
        if self.check is None:
            return
        try:
            self.check(**{key: value for key, value in params.items() if key != "xla"})
        except UsageError as error:
            raise UsageError(f"Workload {self.name!r}: {error}") from None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises UsageError for values that cannot be had: a workload that calls another gives it what it likes."""
        if self.check is not None:
            given = inspect.signature(self.build).bind(*args, **kwargs)
            given.apply_defaults()
            self.check_params(given.arguments)
        return self.build(*args, **kwargs)

    @property
    def place(self) -> str:
        """Where the function is defined, ``file:line``."""
        code = getattr(self.build, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(self.build)
