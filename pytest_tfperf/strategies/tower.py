"""In-graph towers: one process, one old-style graph, a copy of the forward and backward pass on each of its devices.

The shape of the programs of TensorFlow 1 (its CIFAR-10 multi-GPU tutorial), and of tensorflow/tensorflow#12689, where
two GPUs ran at 78 % efficiency and at 63 % with an L2 regulariser. There the script meant its variables to lie on the
CPU, but `slim.arg_scope` did not reach `slim.model_variable`: they lay on tower 0's device, and so did the terms of the
regulariser, which every tower added to its loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.devices import claim_device, claim_devices, one_process_layout
from pytest_tfperf.strategies.facts import format_bytes, short_device, variable_facts
from pytest_tfperf.strategies.graph_step import GraphStep, auto_cluster, read_once, unscaled
from pytest_tfperf.strategies.optimizers import graph_optimizer
from pytest_tfperf.strategies.traffic import copy_facts
from pytest_tfperf.workloads.base import Workload, WorkloadDefinition
from pytest_tfperf.workloads.batches import NextBatch, graph_batches
from pytest_tfperf.workloads.building import Built, build_in_graph, recipe

_VARIABLES = ("reported", "cpu", "device")
_REGULARIZERS = ("shared", "per_tower")


@dataclass(frozen=True)
class _Tower:
    """A device, and the model and the batches that it works on."""

    device: str
    built: Built
    next: NextBatch
    state: Sequence[Any]
    """What its model writes in a step without training it."""


class Tower:
    """Options, where "as reported" is what tensorflow/tensorflow#12689 measured.

    `variables`: ``reported``, on tower 0's device; ``cpu``, in host memory, as was meant; ``device``, a copy on each,
    every copy updated by the mean of all towers' gradients.
    `regularizer`: ``shared``, L2 terms built once, beside the variables, and added to every tower's loss, as reported;
    ``per_tower``, built by each tower on its own device from the values that it fetched anyway. A copy of the
    variables on each device has nothing to share, and takes ``per_tower`` only.
    `apply`: False leaves gradients unused, as reported; steps are counted instead of updates.
    `fetch`: True brings gradients and variables to Python in every step, as reported.

    On a CPU run towers are logical devices ``CPU:1`` and on, and ``CPU:0`` stands for host memory. `xla` means
    auto-clustering, as for `ps_async`. Moving averages are written by the first tower (`slim`'s `model_deploy` did so).
    """

    name = "tower"
    options: Mapping[str, Scalar] = {"variables": "cpu", "regularizer": "per_tower", "apply": True, "fetch": False}
    synchronous = True
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        variables, regularizer = options.get("variables", "cpu"), options.get("regularizer", "per_tower")
        for option, value, known in (
            ("variables", variables, _VARIABLES),
            ("regularizer", regularizer, _REGULARIZERS),
        ):
            if value not in known:
                raise UsageError(f"Strategy {self.name!r}: {option} is {', '.join(known)}, not {value!r}.")
        if (variables, regularizer) == ("device", "shared"):
            raise UsageError(
                f"Strategy {self.name!r}: with variables='device' every tower has variables of its own, and terms of "
                "the regulariser that are shared would reach tower 0's only; use regularizer='per_tower'."
            )
        return one_process_layout(self.name, replicas)

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> GraphStep:
        if device == "gpu":
            devices = claim_devices(task, device, replicas)
        else:
            claim_device(task, device)
            devices = tuple(f"CPU:{index}" for index in range(1, replicas + 1))  # the session makes them
        import tensorflow as tf

        make = recipe(workload, params, for_graph=True)
        task.phase("building")
        graph = tf.Graph()
        with graph.as_default(), tf.device("CPU:0"):
            towers = _towers(make, devices, str(options["variables"]))
            count = tf.Variable(tf.constant(0, tf.int64), trainable=False, name="updates")
            losses, gradients = _gradients(towers, workload, shared=options["regularizer"] == "shared")
            flat = [gradient for tower in gradients for gradient in tower if gradient is not None]
            if options["apply"]:
                train = _update(towers, gradients, workload, count)
            else:
                with tf.control_dependencies(flat):
                    train = count.assign_add(1, read_value=False)
                # Named to the session too: what only a control edge asks for, TensorFlow's graph optimiser leaves out,
                # and a step without its backward pass looks four times as fast. Naming an operation moves no data.
                train = [train, *(tf.convert_to_tensor(gradient).op for gradient in flat)]
            also = [*flat, *map(tf.convert_to_tensor, towers[0].built.variables)] if options["fetch"] else []
            fetches = [train, tf.add_n(losses) / replicas]
            step = GraphStep(
                fetches,
                count,
                towers[0].built.variables,
                towers[0].built.batches.examples,
                replicas=replicas,
                also_fetch=also,
            )
            step.set_facts({**_facts(graph, towers, also), **copy_facts(tf.nest.flatten([fetches, also]))})
            initialise = _initialisers(towers)
            graph.finalize()
        step.start(_session(graph, device, replicas, initialise, xla=bool(params["xla"])))
        return step


def _towers(make: Callable[[], Workload], devices: Sequence[str], variables: str) -> list[_Tower]:
    import tensorflow as tf

    def build_here(home: str, device: str) -> tuple[Workload, Built, list[Any]]:
        before = len(tf.compat.v1.global_variables())
        with tf.device(home), tf.variable_creator_scope(read_once(home)):
            workload = make()
            built = build_in_graph(workload, device)
        made = tf.compat.v1.global_variables()[before:]
        return workload, built, [variable for variable in made if not variable.trainable]

    if variables == "device":
        towers = []
        for device in devices:
            _, built, state = build_here(device, device)
            towers.append(_Tower(device, built, built.batches.next, state))
        return towers
    workload, built, state = build_here(devices[0] if variables == "reported" else "CPU:0", devices[0])
    # Batches of the others, beside those that the model was built with.
    others = [graph_batches(workload.batch, device) for device in devices[1:]]
    for batches in others:
        for initializer in batches.initializers:
            tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.LOCAL_INIT_OP, initializer)
    nexts = [built.batches.next, *(batches.next for batches in others)]
    return [_Tower(device, built, each, state) for device, each in zip(devices, nexts, strict=True)]


def _gradients(towers: Sequence[_Tower], workload: WorkloadDefinition, *, shared: bool) -> tuple[list[Any], list[Any]]:
    """Each tower's loss and gradients, made on its device."""
    import tensorflow as tf

    losses: list[Any] = []
    gradients: list[list[Any]] = []
    terms: list[Any] = []
    for index, tower in enumerate(towers):
        with tf.device(tower.device), tf.name_scope(f"tower_{index}"):
            fit = tower.built.fit(*tower.next())
            if not shared:
                terms = tower.built.decay()
            elif index == 0:
                # `get_variable` of the time put a variable's regularisation loss where the variable lies.
                with tf.device(tower.built.parts[0].device):
                    terms = tower.built.decay()
            losses.append(tf.add_n([fit, *terms]) if terms else fit)
            optimizer = graph_optimizer(workload.optimizer)
            scale = tower.built.loss_scale
            pairs = optimizer.compute_gradients(losses[-1] * scale, var_list=list(tower.built.parts))
            gradients.append([None if g is None else tf.convert_to_tensor(g) for g, _ in unscaled(pairs, scale)])
    return losses, gradients


def _update(
    towers: Sequence[_Tower], gradients: Sequence[Sequence[Any]], workload: WorkloadDefinition, count: Any
) -> Any:
    """Apply the mean of the towers' gradients where variables lie, to each copy of them, and then count."""
    import tensorflow as tf

    copies = {id(tower.built): tower.built for tower in towers}.values()
    pairs = []
    for built in copies:
        for index, variable in enumerate(built.parts):
            found = [tower[index] for tower in gradients]
            if found[0] is not None:
                with tf.device(variable.device):
                    pairs.append((tf.add_n(found) / len(found), variable))
    update = graph_optimizer(workload.optimizer).apply_gradients(pairs)
    with tf.control_dependencies([update, *_state_updates(towers)]):
        return count.assign_add(1, read_value=False)


def _state_updates(towers: Sequence[_Tower]) -> list[Any]:
    """Assigns of moving averages: every tower's to its own copies, or the first tower's where all share them."""
    import tensorflow as tf

    updates: list[Any] = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
    own = len({id(tower.built) for tower in towers}) == len(towers)
    return updates if own else updates[: len(updates) // len(towers)]


def _initialisers(towers: Sequence[_Tower]) -> list[list[Any]]:
    """Operations to run one group after the other: variables, copies of the first tower's, batches."""
    import tensorflow as tf

    first, *others = towers
    copies = [
        mine.assign(original, read_value=False)
        for tower in others
        if tower.built is not first.built
        for mine, original in zip([*tower.built.parts, *tower.state], [*first.built.parts, *first.state], strict=True)
    ]
    batches = [initializer for tower in towers for initializer in tower.built.batches.initializers]
    more = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOCAL_INIT_OP)
    return [[tf.compat.v1.global_variables_initializer()], copies, [*batches, *more]]


def _session(graph: Any, device: Device, replicas: int, initialise: Sequence[Sequence[Any]], *, xla: bool) -> Any:
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto(
        allow_soft_placement=True,
        device_count={} if device == "gpu" else {"GPU": 0, "CPU": replicas + 1},
    )
    session = tf.compat.v1.Session(graph=graph, config=auto_cluster(config) if xla else config)
    for operations in initialise:
        session.run(list(operations))
    return session


def _facts(graph: Any, towers: Sequence[_Tower], fetched: Sequence[Any]) -> dict[str, str]:
    copies = {id(tower.built): tower for tower in towers}.values()
    facts = variable_facts([variable for tower in copies for variable in (*tower.built.parts, *tower.state)])
    terms: dict[str, int] = {}
    for operation in graph.get_operations():
        if operation.type == "L2Loss":
            terms[short_device(operation.device)] = terms.get(short_device(operation.device), 0) + 1
    facts.update({f"L2 terms on {device}": str(count) for device, count in sorted(terms.items())})
    if fetched:
        size = sum(int(tensor.shape.num_elements() or 0) * tensor.dtype.size for tensor in fetched)
        facts["bytes fetched to Python per step"] = format_bytes(size)
    return facts
