"""One process, several devices, synchronous: `tf.distribute.MirroredStrategy`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.devices import claim_devices, one_process_layout
from pytest_tfperf.strategies.eager_step import EagerStep, gradient_function, update_function
from pytest_tfperf.strategies.optimizers import FusedUpdates
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.batches import eager_batches
from pytest_tfperf.workloads.building import build, recipe


class Mirrored:
    """Made as `multi_worker_mirrored` is: two compiled functions for each replica, and the strategy's all-reduce
    between them, NCCL on GPUs and a sum on one device on CPUs.

    Option `pack_gradients` reduces one tensor of all gradients, not one for each variable. On a CPU run replicas
    are logical devices of the process.
    """

    name = "mirrored"
    options: Mapping[str, Scalar] = {"pack_gradients": True}
    synchronous = True
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        return one_process_layout(self.name, replicas)

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> EagerStep:
        devices = claim_devices(task, device, replicas)
        import tensorflow as tf

        task.phase("building")
        strategy = tf.distribute.MirroredStrategy(list(devices))
        xla, pack = bool(params["xla"]), bool(options["pack_gradients"])
        make = recipe(workload, params)
        with strategy.scope():
            made = make()
            built = build(made, devices[0])
        # A fixed batch lies on each replica's own device.
        batches = [built.batches, *(eager_batches(made.batch, where) for where in devices[1:])]
        copies = [strategy.experimental_local_results(variable) for variable in built.variables]
        local = [[copy[index] for copy in copies] for index in range(replicas)]
        updates = [FusedUpdates(workload.optimizer, local[i], devices[i]) for i in range(replicas)]
        divisor = built.loss_scale * replicas
        # Functions of its own for each replica, whose variables they capture.
        gradients = [gradient_function(built, xla=xla, pack=pack) for _ in devices]
        update = [update_function(updates[i], local[i], xla=xla, packed=pack, divisor=divisor) for i in range(replicas)]

        def replica() -> Any:
            context = tf.distribute.get_replica_context()
            index = int(tf.get_static_value(context.replica_id_in_sync_group))
            loss, found = gradients[index](*batches[index].next())
            # Summed, and divided inside the compiled update.
            update[index](context.all_reduce(tf.distribute.ReduceOp.SUM, found))
            return loss

        def step() -> Any:
            return tuple(strategy.experimental_local_results(strategy.run(replica)))

        return EagerStep(tf.function(step), built.batches.examples, updates[0], local[0], replicas=replicas)
