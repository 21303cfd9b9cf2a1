"""What the spawned processes do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_tfperf.records.task import Task, TaskId
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads

# Registered by being imported, in the processes too.
from tests.strategies import keras_workloads, small_workloads, wrong_workloads  # noqa: F401
from tests.strategies.small_workloads import latest


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


def build_errors(task: Task, *, names: list[str], strategy: str, **options: Any) -> dict[str, str]:
    """What building each of the workloads raises, as text."""
    texts = {}
    for name in names:
        try:
            train(task, strategy=strategy, name=name, steps=1, **options)
            texts[name] = "nothing was raised"
        except Exception as error:
            texts[name] = f"{type(error).__name__}: {error}"
    return texts


def compiled_functions(task: Task, *, runs: dict[str, dict[str, Any]]) -> dict[str, tuple[bool, int]]:
    """Of each workload's step under `single`: whether it is compiled as a whole, and how many that it calls are."""
    found = {}
    for key, run in runs.items():
        chosen, definition = strategies.get("single"), workloads.get(run["name"])
        params = workloads.resolve_params(definition, {"xla": run["xla"]})
        step: Any = chosen.build(task, definition, params, strategies.resolve_options(chosen, {}), "cpu", 1)
        concrete = step._function.get_concrete_function()
        called = [each for each in concrete.graph.as_graph_def().node if "PartitionedCall" in each.op]
        within = {each.attr["f"].func.name for each in called if each.attr["_XlaMustCompile"].b}
        found[key] = (concrete.function_def.attr["_XlaMustCompile"].b, len(within))
        step.close()
    return found


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
