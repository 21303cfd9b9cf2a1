"""What the spawned processes of test_packing do, and the workload they train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import Task
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.strategies.packing import Packing
from pytest_tfperf.workloads import registry as workloads
from pytest_tfperf.workloads.base import Optimizer, Workload
from pytest_tfperf.workloads.building import parts_of
from pytest_tfperf.workloads.layers import Network, state_variable
from pytest_tfperf.workloads.registry import workload
from tests.strategies.small_workloads import squared_error

latest: dict[str, Any] = {}


class FixedNorm(Network):
    """A product, batch normalisation and another product that start the same in every process."""

    def __init__(self) -> None:
        import numpy as np
        import tensorflow as tf

        super().__init__()
        random = np.random.default_rng(0)
        inner, outer = random.normal(size=(5, 4)).astype("float32"), random.normal(size=(4, 3)).astype("float32")
        self._inner = self._variable(lambda: tf.constant(inner), "inner")
        self._norm = self.batch_norm("norm", 4)
        self._outer = self._variable(lambda: tf.constant(outer), "outer")

    def forward(self, x: Any) -> Any:
        import tensorflow as tf

        y = tf.matmul(x, tf.cast(self._inner, self.precision))
        y = self._norm(y[:, tf.newaxis, tf.newaxis, :])
        return tf.matmul(tf.nn.relu(y[:, 0, 0, :]), tf.cast(self._outer, self.precision))


@workload("fixed_norm", optimizer=Optimizer("momentum", 0.05))
def fixed_norm() -> Workload:
    import numpy as np

    random = np.random.default_rng(1)
    x = random.normal(loc=2.0, size=(16, 5)).astype("float32")
    latest["model"] = FixedNorm()
    return Workload(latest["model"], squared_error, (x, x[:, :3]), weight_decay=0.01)


@workload("fixed_norm_by_replica", optimizer=Optimizer("momentum", 0.05))
def fixed_norm_by_replica() -> Workload:
    """Each of two replicas of one process trains on a half of its own, so that their moving averages differ."""
    import numpy as np
    import tensorflow as tf

    whole = fixed_norm()
    x = np.random.default_rng(2).normal(loc=[[[1.0]], [[3.0]]], size=(2, 16, 5)).astype("float32")

    def batch() -> Any:
        context = tf.distribute.get_replica_context()
        replica = 0 if context is None else int(tf.get_static_value(context.replica_id_in_sync_group))
        return tf.constant(x[replica]), tf.constant(x[replica, :, :3])

    return Workload(whole.model, whole.loss, batch, weight_decay=0.01)


def train_with_state(task: Task, *, steps: int, **options: Any) -> dict[str, Any] | None:
    """Losses, weights, moving averages and facts of one worker's training."""
    chosen, definition = strategies.get("ps_async"), workloads.get("fixed_norm")
    params = workloads.resolve_params(definition, {})
    step: Any = chosen.build(task, definition, params, strategies.resolve_options(chosen, options), "cpu", 1)
    if step is None:
        return None
    losses = []
    for _ in range(steps):
        step.run()
        losses.append(step.wait())
    state = [variable.read() if hasattr(variable, "is_slice") else variable for variable in latest["model"].state]
    return {
        "losses": losses,
        "weights": step.weights(),
        "state": step._session.run(state),
        "updates": step.updates(),
        "facts": dict(step.facts()),
    }


def train_in_functions(
    task: Task, *, strategy: str, steps: int, name: str = "fixed_norm", replicas: int | None = None, **options: Any
) -> dict[str, Any]:
    """The same of a rank whose step XLA compiles; weights and moving averages as the model has them, in each replica.

    There are as many replicas as ranks, where nothing else is said.
    """
    chosen, definition = strategies.get(strategy), workloads.get(name)
    params = {**workloads.resolve_params(definition, {}), "xla": True}
    replicas = replicas or len(task.cluster["worker"])
    step: Any = chosen.build(task, definition, params, strategies.resolve_options(chosen, options), "cpu", replicas)
    losses = []
    for _ in range(steps // step.steps_per_call):
        step.run()
        losses.append(step.wait())
    model = latest["model"]
    found = {
        "losses": losses,
        "weights": _in_each_replica(model.trainable_variables),
        "state": _in_each_replica(model.state),
        "updates": step.updates(),
        "arguments": len(step.weights()),
    }
    step.close()
    return found


def _in_each_replica(variables: Sequence[Any]) -> list[Any]:
    """Arrays of all variables, of each of this process's replicas."""
    import tensorflow as tf

    strategy = getattr(parts_of(variables[0])[0], "distribute_strategy", None) or tf.distribute.get_strategy()
    values = strategy.run(lambda: [tf.convert_to_tensor(variable) for variable in variables])
    return [value.numpy() for each in values for value in strategy.experimental_local_results(each)]


def pack_what_writes_in_a_condition(task: Task) -> str:
    """What is said of a model whose moving average is written in a branch of `tf.cond`."""
    import tensorflow as tf

    packing = Packing(1)
    with tf.variable_creator_scope(packing.create):
        average = state_variable(lambda: tf.zeros([2]), "average")
        tf.Variable(tf.zeros([3]), name="kernel")
    packing.complete()

    def step(x: Any) -> None:
        tf.cond(x > 0, lambda: average.assign_sub(tf.ones([2])), average.read)
        packing.updates()

    try:
        tf.function(step, autograph=False)(tf.constant(1.0))
    except UsageError as error:
        return f"UsageError: {error}"
    return "nothing"


def use_as_tensors(task: Task) -> dict[str, tuple[Any, Any]]:
    """What operators and functions give of a slice, and of a variable with its values; in functions with gradients."""
    import numpy as np
    import tensorflow as tf

    values = np.array([[1.0, -2.0], [3.0, 4.0]], "float32")
    packing = Packing(1)
    with tf.variable_creator_scope(packing.create):
        part = tf.Variable(tf.constant(values), name="kernel")
        tf.Variable(tf.zeros([3]), name="bias")
    packing.complete()
    whole = tf.Variable(values)
    uses: dict[str, Callable[[Any], Any]] = {
        "rows": lambda v: v[1:], "element": lambda v: v[0, 1], "transposed": lambda v: tf.transpose(v),
        "sum": lambda v: v + 1.0, "reflected sum": lambda v: 1.0 + v, "difference": lambda v: 1.0 - v,
        "product": lambda v: 2.0 * v * v, "quotient": lambda v: 1.0 / v, "floor": lambda v: v // 2.0,
        "remainder": lambda v: v % 2.0, "power": lambda v: v**2.0, "exponential": lambda v: 2.0**v,
        "matrix product": lambda v: v @ v, "reflected matrix product": lambda v: tf.ones([1, 2]) @ v,
        "array on the left": lambda v: values * v, "matrix on the left": lambda v: values @ v,
        "negative": lambda v: -v, "size": lambda v: abs(v), "above": lambda v: v > 1.0, "below": lambda v: v <= 1.0,
        "equal": lambda v: v == 3.0, "unequal": lambda v: v != values.T,
        "value": lambda v: v.value(), "read_value": lambda v: v.read_value(),
    }  # fmt: skip

    def outcome(variable: Any, stored: Any, use: Callable[[Any], Any]) -> list[Any]:
        def differentiate() -> Any:
            with tf.GradientTape() as tape:
                result = use(variable)
            return result, tape.gradient(result, stored, unconnected_gradients="zero")

        result, gradient = tf.function(differentiate, autograph=False)()
        return [use(variable).numpy(), result.numpy(), tf.reshape(gradient, [-1])[:4].numpy()]

    (flat,) = part.variables
    return {name: (outcome(part, flat, use), outcome(whole, whole, use)) for name, use in uses.items()}


def use_as_an_object(task: Task) -> dict[str, Any]:
    """How a slice is told from others, taken for a list of rows, and copied."""
    import copy

    import tensorflow as tf

    packing = Packing(1)
    with tf.variable_creator_scope(packing.create):
        one, other = (tf.Variable(tf.ones([2, 3]), name=name) for name in ("one", "other"))
    packing.complete()
    return {
        "found": [one in [other, one], one in [other], {one: 1}.get(other), one == other, one != other, one == None],  # noqa: E711
        "rows": [row.numpy().tolist() for row in one],
        "copied": copy.copy(one).name,
    }
