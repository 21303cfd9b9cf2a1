"""Parameter servers as TensorFlow 1 had them, between-graph: every worker builds its own graph, variables are shared.

Variables lie on the servers. A step is one `session.run`: it fetches the variables and sends gradients back. What
becomes of the gradients is what `ps_async` and `ps_sync` differ in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task, TaskId
from pytest_tfperf.strategies.devices import claim_device
from pytest_tfperf.strategies.facts import shard_facts, variable_facts
from pytest_tfperf.strategies.graph_step import AfterStep, GraphStep, auto_cluster, unscaled
from pytest_tfperf.strategies.optimizers import graph_optimizer
from pytest_tfperf.strategies.placement import check_placement, placed
from pytest_tfperf.strategies.traffic import traffic_facts
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.building import build_in_graph, recipe

_RECOVERY_WAIT_SECONDS = 1
"""Between looks at whether the chief has initialised. TensorFlow's default of 30 outlasts a measurement, and
`MonitoredTrainingSession` gives no way to set it."""

_left_open: list[Any] = []
"""Sessions and servers that live until the process ends: a session whose peers have left blocks for ever when it
is closed or collected."""


@dataclass(frozen=True)
class Training:
    """What a kind of between-graph training adds to the graph."""

    train: Any
    """The operation of a step."""
    local_initializers: Sequence[Any] = ()
    """Operations that this worker runs before its first step."""
    ready_for_local: Any = None
    """Names of what is to be initialised before those; None: every global variable."""
    queue_runners: Sequence[Any] = field(default_factory=tuple)
    """What this worker runs in threads beside its steps."""
    also_fetch: Sequence[Any] = ()
    """Tensors whose values of each step `after_step` is given."""
    after_step: AfterStep | None = None


class BetweenGraph:
    """What `ps_async` and `ps_sync` share.

    Options: `ps`, the number of parameter servers, which have no GPU; `placement` of variables on them, as
    `placement.placed` explains; `feed`, which makes a batch once and feeds it from NumPy through placeholders
    in every step, as the programs of tensorflow/tensorflow#5683 did for AlexNet.

    `xla` means XLA's auto-clustering here, for a function compiled as a whole cannot read variables that lie
    on another machine; on CPUs it has no effect.
    """

    name = ""
    options: Mapping[str, Scalar] = {"ps": 1, "placement": "round_robin", "feed": False}
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        servers = options.get("ps", 1)
        if not isinstance(servers, int) or servers < 1:
            raise UsageError(f"Strategy {self.name!r} needs at least 1 parameter server: ps={servers!r}.")
        if replicas < 1:
            raise UsageError(f"Strategy {self.name!r} needs at least 1 replica, not {replicas}.")
        check_placement(self.name, options.get("placement", "round_robin"))
        return Layout(workers=replicas, ps=servers)

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> GraphStep | None:
        if task.id.type == "ps":
            _serve(task)
            return None
        claim_device(task, device)
        import tensorflow as tf

        cluster = tf.train.ClusterSpec({job: list(addresses) for job, addresses in task.cluster.items()})
        make = recipe(workload, params, for_graph=True)
        config = _session_config(task, device, xla=bool(params["xla"]))
        server = _server(task, cluster, config)
        task.phase("building")
        worker, servers = f"/job:worker/task:{task.id.index}", len(task.cluster["ps"])
        graph = tf.Graph()
        with graph.as_default(), placed(str(options["placement"]), servers, worker, cluster) as packing:
            built = build_in_graph(make(), worker)
            packing.complete()
            packing.check(built.variables)
            state = [v for v in tf.compat.v1.global_variables() if not v.trainable]
            # After the model: where it lies decides which server gets which variable.
            global_step = tf.compat.v1.train.get_or_create_global_step()
            batch = built.batches.next()
            fed = _placeholders(batch) if options["feed"] else batch
            loss = built.loss(*fed)
            optimizer = graph_optimizer(workload.optimizer)
            pairs = unscaled(
                optimizer.compute_gradients(loss * built.loss_scale, var_list=list(built.parts)), built.loss_scale
            )
            training = self.training(optimizer, pairs, global_step, replicas, chief=task.id.index == 0)
            # Moving averages of batch normalisation, and whatever else the model writes in a step.
            moving = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
            train = tf.group(training.train, *moving, *packing.updates())
            step = GraphStep(
                [train, loss],
                global_step,
                built.variables,
                built.batches.examples,
                also_fetch=training.also_fetch,
                after_step=training.after_step,
                gradients=[gradient for gradient, _ in pairs if gradient is not None],
            )
            held = [*built.parts, *state]
            step.set_facts({**variable_facts(held), **shard_facts(held, servers), **traffic_facts([train, loss])})
            session = _session(task, server, graph, built.batches.initializers, training, config)
        step.start(session, feeds=zip(tf.nest.flatten(fed), tf.nest.flatten(batch)) if options["feed"] else ())
        for runner in training.queue_runners:
            runner.create_threads(session, daemon=True, start=True)
        _left_open.extend([server, session])
        return step

    def training(
        self, optimizer: Any, pairs: Sequence[tuple[Any, Any]], global_step: Any, workers: int, *, chief: bool
    ) -> Training:
        """Add to the default graph what is done with the gradients."""
        raise NotImplementedError


def _placeholders(batch: tuple[Any, Any]) -> Any:
    import tensorflow as tf

    return tf.nest.map_structure(lambda part: tf.compat.v1.placeholder(part.dtype, part.shape), batch)


def _serve(task: Task) -> None:
    import tensorflow as tf

    claim_device(task, "cpu")
    cluster = tf.train.ClusterSpec({job: list(addresses) for job, addresses in task.cluster.items()})
    _left_open.append(_server(task, cluster, tf.compat.v1.ConfigProto(device_count={"GPU": 0})))
    task.phase("serving")
    task.wait_for_release()


def _server(task: Task, cluster: Any, config: Any) -> Any:
    import tensorflow as tf

    task.phase("connecting")
    return tf.compat.v1.train.Server(cluster, job_name=task.id.type, task_index=task.id.index, config=config)


def _session_config(task: Task, device: Device, *, xla: bool) -> Any:
    """Workers see the servers and themselves: without the filter a session waits for every other worker."""
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto(
        device_filters=["/job:ps", f"/job:worker/task:{task.id.index}"],
        allow_soft_placement=True,
        device_count={} if device == "gpu" else {"GPU": 0},
    )
    return auto_cluster(config) if xla else config


def _session(task: Task, server: Any, graph: Any, initializers: Sequence[Any], training: Training, config: Any) -> Any:
    """Worker 0 initialises the servers' variables; the others wait until it has."""
    import tensorflow as tf

    train = tf.compat.v1.train
    variables = tf.compat.v1.global_variables()
    ready = tf.compat.v1.report_uninitialized_variables(variables)
    manager = train.SessionManager(
        local_init_op=tf.group(*initializers, *training.local_initializers),
        ready_op=ready,
        ready_for_local_init_op=ready if training.ready_for_local is None else training.ready_for_local,
        graph=graph,
        recovery_wait_secs=_RECOVERY_WAIT_SECONDS,
    )
    initialise = tf.compat.v1.variables_initializer(variables)
    graph.finalize()
    workers = [TaskId("worker", index) for index in range(len(task.cluster["worker"]))]
    session = None
    if task.id.index == 0:
        task.phase("initialising")
        session = manager.prepare_session(server.target, init_op=initialise, config=config)
    task.phase("waiting for worker:0 to initialise")
    task.exchange("variables initialised", None, workers)
    return session if session is not None else manager.wait_for_session(server.target, config=config)
