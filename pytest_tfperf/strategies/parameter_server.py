"""TensorFlow 2's parameter servers: `tf.distribute.ParameterServerStrategy`, steps handed out by a coordinator.

The chief traces one step and schedules it again and again (`ClusterCoordinator`); whichever worker is free runs it on
variables that lie on the servers. Asynchronous: gradients are applied as they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.devices import claim_device
from pytest_tfperf.strategies.eager_step import gradient_function
from pytest_tfperf.strategies.facts import shard_facts, variable_facts
from pytest_tfperf.strategies.graph_step import auto_cluster
from pytest_tfperf.strategies.optimizers import ServerUpdates
from pytest_tfperf.strategies.placement import MIN_SHARD_BYTES
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.batches import as_dataset
from pytest_tfperf.workloads.building import Built, build, recipe

_left_open: list[Any] = []
"""Servers live until the process ends: TensorFlow cannot stop one."""


class ParameterServer:
    """The chief is measured, and one of its steps is a step of every worker.

    Options: `ps`, the number of servers; `partitioner`, which splits large variables over them
    (`MinSizePartitioner`, shards of 256 KiB at least), else each lies whole on one, dealt out by count.

    `xla` means auto-clustering, as for `ps_async`. A fixed batch reaches the step through a `tf.data` pipeline of
    each worker, as this strategy's batches do, so on a GPU it is copied there in every step. The updates are this
    project's own, with locks, since those of Keras 3 get lost here (`assign_add` reads, adds and assigns).
    """

    name = "parameter_server"
    options: Mapping[str, Scalar] = {"ps": 1, "partitioner": False}
    synchronous = False
    updates_are_global = False
    measured_job = "chief"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        servers = options.get("ps", 1)
        if not isinstance(servers, int) or servers < 1:
            raise UsageError(f"Strategy {self.name!r} needs at least 1 parameter server: ps={servers!r}.")
        if replicas < 1:
            raise UsageError(f"Strategy {self.name!r} needs at least 1 replica, not {replicas}.")
        return Layout(workers=replicas, ps=servers, chief=True, chief_trains=False)

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> CoordinatedStep | None:
        xla = bool(params["xla"])
        if task.id.type != "chief":
            _serve(task, device if task.id.type == "worker" else "cpu", xla=xla)
            return None
        claim_device(task, "cpu")
        import tensorflow as tf

        task.phase("connecting")
        if xla:
            tf.config.optimizer.set_jit("autoclustering")
        servers = len(task.cluster["ps"])
        partitioners = tf.distribute.experimental.partitioners
        strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                _cluster(task), task_type="chief", task_id=0, rpc_layer="grpc"
            ),
            variable_partitioner=(
                partitioners.MinSizePartitioner(MIN_SHARD_BYTES, max_shards=servers) if options["partitioner"] else None
            ),
        )
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        task.phase("building")
        make = recipe(workload, params)
        before_scope = _Recorder()
        with strategy.scope(), tf.variable_creator_scope(before_scope):
            made = make()
            built = build(made, "CPU:0")
        updates = ServerUpdates(workload.optimizer, built.parts, "/job:ps/task:0")
        step = CoordinatedStep(coordinator, _worker_step(strategy, built, updates, made.batch, coordinator))
        step.describe(built, updates, before_scope.state, replicas, servers)
        return step


class CoordinatedStep:
    """One step of every worker, scheduled: `run` comes back at once, `wait` joins."""

    steps_per_call = 1

    def __init__(self, coordinator: Any, schedule: Callable[[], Any]) -> None:
        self._coordinator = coordinator
        self._schedule = schedule

    def describe(self, built: Built, updates: ServerUpdates, state: list[Any], workers: int, servers: int) -> None:
        self._built = built
        self._updates = updates
        held = [*built.parts, *state]
        self._facts = {**variable_facts(held), **shard_facts(held, servers)}
        self._losses: deque[Any] = deque(maxlen=workers)
        self.replicas = self.updates_per_step = workers
        self.examples_per_step = workers * built.batches.examples

    def trace(self) -> bool:
        return False  # the coordinator does it when it first hands the step out

    def run(self, times: int = 1) -> None:
        for _ in range(times * self.replicas):
            self._losses.append(self._schedule())

    def wait(self) -> float:
        self._coordinator.join()
        losses = [float(loss.fetch()) for loss in self._losses]
        return sum(losses) / len(losses) if losses else float("nan")

    def updates(self) -> int:
        """The servers' count of updates by all workers."""
        return int(self._updates.count)

    def alone(self) -> None:
        """None: this task only schedules the steps of others."""
        return None

    def weights(self) -> list[Any]:
        import tensorflow as tf

        return [tf.convert_to_tensor(variable).numpy() for variable in self._built.variables]

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def close(self) -> None:
        """Nothing: the coordinator ends with the process."""


class _Recorder:
    """A variable creator that remembers what is not trained."""

    def __init__(self) -> None:
        self.state: list[Any] = []

    def __call__(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        if kwargs.get("trainable") is False:
            self.state.append(variable)
        return variable


def _worker_step(
    strategy: Any, built: Built, updates: ServerUpdates, batch: Any, coordinator: Any
) -> Callable[[], Any]:
    """A function that schedules one worker's step and gives its loss as a `RemoteValue`."""
    import tensorflow as tf

    gradients = gradient_function(built, xla=False, pack=False)

    def replica(features: Any, labels: Any) -> Any:
        loss, found = gradients(features, labels)
        updates.apply([gradient / built.loss_scale for gradient in found] if built.loss_scale != 1.0 else found)
        return loss

    def replica_with_own_batch() -> Any:
        return replica(*built.batches.next())

    def one_step(batches: Any = None) -> Any:
        if batches is None:  # a function makes the batch, inside the step
            return strategy.run(replica_with_own_batch)
        return strategy.run(replica, args=next(batches))

    step = tf.function(one_step, autograph=False)
    data = as_dataset(batch)
    if data is None:
        return lambda: coordinator.schedule(step)
    batches = iter(coordinator.create_per_worker_dataset(data))
    return lambda: coordinator.schedule(step, args=(batches,))


def _cluster(task: Task) -> Any:
    import tensorflow as tf

    return tf.train.ClusterSpec({job: list(addresses) for job, addresses in task.cluster.items()})


def _serve(task: Task, device: Device, *, xla: bool) -> None:
    claim_device(task, device)
    import tensorflow as tf

    task.phase("connecting")
    config = tf.compat.v1.ConfigProto(device_count={} if device == "gpu" else {"GPU": 0})
    # With fewer, a server can wait for itself for ever; TensorFlow takes as many as there are cores.
    config.inter_op_parallelism_threads = max(len(task.cluster["worker"]) + 1, 4)
    server = tf.distribute.Server(
        _cluster(task),
        job_name=task.id.type,
        task_index=task.id.index,
        protocol="grpc",
        config=auto_cluster(config) if xla else config,
    )
    _left_open.append(server)
    task.phase("serving")
    task.wait_for_release()
