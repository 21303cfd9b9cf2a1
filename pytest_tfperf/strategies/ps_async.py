"""Asynchronous parameter servers, between-graph, as TensorFlow 1 had them: every worker builds its own graph.

Variables lie on the servers, where `replica_device_setter` deals them out one after the other. A step is one
`session.run`: it fetches the variables, and sends gradients back that are applied as they come, with no worker
waiting for another. Dean et al. 2012, "Large Scale Distributed Deep Networks", call this Downpour SGD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task, TaskId
from pytest_tfperf.strategies.devices import claim_device
from pytest_tfperf.strategies.optimizers import graph_optimizer
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.building import Built, build_in_graph, recipe

_RECOVERY_WAIT_SECONDS = 1
"""Between looks at whether the chief has initialised. TensorFlow's default of 30 outlasts a measurement, and
`MonitoredTrainingSession` gives no way to set it."""

_left_open: list[Any] = []
"""Sessions and servers that live until the process ends: a session whose peers have left blocks for ever when it
is closed or collected."""


class PsAsync:
    """Option `ps`: the number of parameter servers; they have no GPU.

    `xla` means XLA's auto-clustering here, for a function compiled as a whole cannot read variables that lie
    on another machine; on CPUs it has no effect.
    """

    name = "ps_async"
    options: Mapping[str, Scalar] = {"ps": 1}
    synchronous = False
    updates_are_global = True

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        servers = options.get("ps", 1)
        if not isinstance(servers, int) or servers < 1:
            raise UsageError(f"Strategy {self.name!r} needs at least 1 parameter server: ps={servers!r}.")
        if replicas < 1:
            raise UsageError(f"Strategy {self.name!r} needs at least 1 replica, not {replicas}.")
        return Layout(workers=replicas, ps=servers)

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
    ) -> PsStep | None:
        if task.id.type == "ps":
            _serve(task)
            return None
        claim_device(task, device)
        import tensorflow as tf

        cluster = tf.train.ClusterSpec({job: list(addresses) for job, addresses in task.cluster.items()})
        make = recipe(workload, params, for_graph=True)
        server = _server(task, cluster, _session_config(task, device, xla=bool(params["xla"])))
        task.phase("building")
        worker = f"/job:worker/task:{task.id.index}"
        graph = tf.Graph()
        with graph.as_default():
            with graph.device(tf.compat.v1.train.replica_device_setter(worker_device=worker, cluster=cluster)):
                built = build_in_graph(make(), worker)
                # After the model: where it lies decides which server gets which variable.
                global_step = tf.compat.v1.train.get_or_create_global_step()
                loss = built.loss(*built.batches.next())
                train = _train_op(workload, built, loss, global_step)
            session = _session(task, server, graph, built, _session_config(task, device, xla=bool(params["xla"])))
        _left_open.extend([server, session])
        return PsStep(session, train, loss, global_step, built)


class PsStep:
    """One worker's step: a blocking `session.run`, as in the programs of the time."""

    def __init__(self, session: Any, train: Any, loss: Any, global_step: Any, built: Built) -> None:
        self._session = session
        self._fetches = [train, loss]
        self._global_step = global_step
        self._variables = built.variables
        self._last_loss = float("nan")
        self.examples_per_step = built.batches.examples
        self.replicas = 1

    def run(self) -> None:
        _, self._last_loss = self._session.run(self._fetches)

    def wait(self) -> float:
        return float(self._last_loss)

    def updates(self) -> int:
        """The servers' count of updates by all workers: `global_step`, incremented beside the last variable."""
        return int(self._session.run(self._global_step))

    def weights(self) -> list[Any]:
        return list(self._session.run(list(self._variables)))

    def close(self) -> None:
        """Nothing: the session ends with the process, since closing it can block (see `_left_open`)."""


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
    if xla:
        config.graph_options.optimizer_options.global_jit_level = tf.compat.v1.OptimizerOptions.ON_1
    return config


def _train_op(workload: WorkloadDefinition, built: Built, loss: Any, global_step: Any) -> Any:
    import tensorflow as tf

    optimizer = graph_optimizer(workload.optimizer)
    pairs = optimizer.compute_gradients(loss * built.loss_scale, var_list=list(built.variables))
    if built.loss_scale != 1.0:
        pairs = [(None if g is None else tf.convert_to_tensor(g) / built.loss_scale, v) for g, v in pairs]
    train = optimizer.apply_gradients(pairs, global_step=global_step)
    # Moving averages of batch normalisation, and whatever else the model writes in a step.
    return tf.group(train, *tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS))


def _session(task: Task, server: Any, graph: Any, built: Built, config: Any) -> Any:
    """Worker 0 initialises the servers' variables; the others wait until it has."""
    import tensorflow as tf

    train = tf.compat.v1.train
    variables = tf.compat.v1.global_variables()
    manager = train.SessionManager(
        local_init_op=tf.group(*built.batches.initializers),
        ready_op=tf.compat.v1.report_uninitialized_variables(variables),
        ready_for_local_init_op=tf.compat.v1.report_uninitialized_variables(variables),
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
