"""Realises a workload's `Optimizer`: as fused update ops for `tf.function` steps, as `tf.compat.v1` for old graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tfperf.workloads.base import Optimizer


class FusedUpdates:
    """TensorFlow's own update kernels on plain resource variables: one kernel a variable, and XLA compiles them.

    Slots and the counter of updates lie on the device of the variables. `tf.Variable`s of this process only;
    for a strategy's mirrored variables give their local components.
    """

    def __init__(self, optimizer: Optimizer, variables: Sequence[Any], device: str) -> None:
        import tensorflow as tf

        self._optimizer = optimizer
        self._variables = tuple(variables)
        with tf.device(device):
            self._slots = [_slots(optimizer, variable) for variable in variables]
            # Powers of the betas, by which Adam corrects its start (Kingma & Ba 2015, arXiv:1412.6980, algorithm 1).
            self._powers = (
                [tf.Variable(beta, trainable=False) for beta in (optimizer.beta_1, optimizer.beta_2)]
                if optimizer.rule == "adam"
                else []
            )
            self.count = tf.Variable(tf.constant(0, tf.int64), trainable=False)
            """Updates applied so far, int64 scalar; counted by the function that applies them."""

    def apply(self, gradients: Sequence[Any]) -> None:
        """Update every variable by its gradient, both in the order of `variables`; call it inside a `tf.function`."""
        powers = [power.read_value() for power in self._powers]
        for variable, gradient, slots in zip(self._variables, gradients, self._slots, strict=True):
            _apply_one(self._optimizer, variable, gradient, [slot.handle for slot in slots], powers)
        for power, beta in zip(self._powers, (self._optimizer.beta_1, self._optimizer.beta_2), strict=False):
            power.assign(power * beta)
        self.count.assign_add(1)


class ServerUpdates:
    """The same kernels on variables of parameter servers, run where these lie, with locks: no worker's update is lost.

    Adam corrects by the number of updates when the step began; one that another worker makes in between is not in it.
    """

    def __init__(self, optimizer: Optimizer, variables: Sequence[Any], count_device: str) -> None:
        import tensorflow as tf

        self._optimizer = optimizer
        self._variables = tuple(variables)
        self._slots = []
        for variable in variables:
            with tf.device(variable.device):
                self._slots.append(_slots(optimizer, variable))
        with tf.device(count_device):
            self.count = tf.Variable(tf.constant(0, tf.int64), trainable=False)
            """Updates applied so far by all workers, int64 scalar."""

    def apply(self, gradients: Sequence[Any]) -> None:
        """Update every variable by its gradient, both in the order of `variables`; call it inside a `tf.function`."""
        import tensorflow as tf

        number = tf.cast(self.count.read_value(), tf.float32) + 1.0
        powers = [tf.pow(beta, number) for beta in (self._optimizer.beta_1, self._optimizer.beta_2)]
        updates = []
        for variable, gradient, slots in zip(self._variables, gradients, self._slots, strict=True):
            with tf.device(variable.device):
                updates.append(
                    _apply_one(
                        self._optimizer, variable, gradient, [slot.handle for slot in slots], powers, locking=True
                    )
                )
        with tf.control_dependencies(updates):
            self.count.assign_add(1)


_SLOTS = {"sgd": (), "momentum": (0.0,), "adam": (0.0, 0.0), "rmsprop": (1.0, 0.0)}
"""What each rule keeps for a variable, and where it starts. RMSProp's mean of squares starts at one, as that of
`tf.compat.v1.train.RMSPropOptimizer`; Keras has it start at zero."""


def _slots(optimizer: Optimizer, variable: Any) -> list[Any]:
    import tensorflow as tf

    return [
        tf.Variable(tf.fill(variable.shape, tf.constant(start, variable.dtype)), trainable=False)
        for start in _SLOTS[optimizer.rule]
    ]


def _apply_one(
    rule: Optimizer, variable: Any, gradient: Any, slots: list[Any], powers: list[Any], *, locking: bool = False
) -> Any:
    import tensorflow as tf

    def typed(number: float) -> Any:
        return tf.constant(number, variable.dtype)

    if rule.rule == "sgd":
        return tf.raw_ops.ResourceApplyGradientDescent(
            var=variable.handle, alpha=typed(rule.learning_rate), delta=gradient, use_locking=locking
        )
    if rule.rule == "momentum":
        return tf.raw_ops.ResourceApplyMomentum(
            var=variable.handle,
            accum=slots[0],
            lr=typed(rule.learning_rate),
            grad=gradient,
            momentum=typed(rule.momentum),
            use_locking=locking,
        )
    if rule.rule == "rmsprop":
        return tf.raw_ops.ResourceApplyRMSProp(
            var=variable.handle,
            ms=slots[0],
            mom=slots[1],
            lr=typed(rule.learning_rate),
            rho=typed(rule.decay),
            momentum=typed(rule.momentum),
            epsilon=typed(rule.epsilon),
            grad=gradient,
            use_locking=locking,
        )
    return tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=slots[0],
        v=slots[1],
        beta1_power=tf.cast(powers[0], variable.dtype),
        beta2_power=tf.cast(powers[1], variable.dtype),
        lr=typed(rule.learning_rate),
        beta1=typed(rule.beta_1),
        beta2=typed(rule.beta_2),
        epsilon=typed(rule.epsilon),
        grad=gradient,
        use_locking=locking,
    )


def graph_optimizer(optimizer: Optimizer) -> Any:
    """The same update rule as a `tf.compat.v1.train` optimizer, which places its slots beside the variables."""
    import tensorflow as tf

    train = tf.compat.v1.train
    if optimizer.rule == "sgd":
        return train.GradientDescentOptimizer(optimizer.learning_rate)
    if optimizer.rule == "momentum":
        return train.MomentumOptimizer(optimizer.learning_rate, optimizer.momentum)
    if optimizer.rule == "rmsprop":
        return train.RMSPropOptimizer(
            optimizer.learning_rate, optimizer.decay, momentum=optimizer.momentum, epsilon=optimizer.epsilon
        )
    return train.AdamOptimizer(optimizer.learning_rate, optimizer.beta_1, optimizer.beta_2, optimizer.epsilon)
