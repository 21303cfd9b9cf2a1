"""One process a replica, synchronous, gradients summed by an all-reduce: TensorFlow's ring on CPUs, NCCL on GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tfperf.errors import MeasurementError, UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.compression import check_nccl, compression
from pytest_tfperf.strategies.devices import claim_device, rank_layout
from pytest_tfperf.strategies.eager_step import (
    EagerStep,
    gradient_function,
    repeated,
    steps_per_call,
    update_function,
)
from pytest_tfperf.strategies.optimizers import FusedUpdates
from pytest_tfperf.strategies.packing import packed_variables
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.building import build, recipe

_COMMUNICATION = ("auto", "ring", "nccl")


class MultiWorkerMirrored:
    """`tf.distribute.MultiWorkerMirroredStrategy`, its step made of two compiled functions and an all-reduce.

    Options: `communication` is ``ring``, ``nccl`` (on GPUs) or ``auto`` (NCCL on GPUs, ring on CPUs); `pack_gradients`
    reduces one tensor of all gradients, not one for each variable: at 4 H100s ResNet-50 scaled to 89.5 %
    packed and to 86 % as a list. `compression` is ``none``, ``float16`` or ``bfloat16`` (not over NCCL): the type in
    which gradients cross and are summed, each divided by the number of replicas first. That is half the bytes, with the
    digits and the range of that type.
    `steps_per_call` puts so many steps into one call of a `tf.function` (Keras calls that steps_per_execution): the
    host waits for each all-reduce, and what Python and the call itself take would be added to every step.
    `pack_variables` makes the model's variables slices of one: a compiled function then takes a handful of
    arguments where it took hundreds, each of which costs the host some microseconds while the GPU waits for the call.
    Keras models too; one that makes a layer's variables as it first uses them is packed layer by layer. Collective and
    compiled code cannot share a function here: XLA refuses it across processes.
    """

    name = "multi_worker_mirrored"
    options: Mapping[str, Scalar] = {
        "communication": "auto", "compression": "none", "pack_gradients": True, "pack_variables": False,
        "steps_per_call": 1,
    }  # fmt: skip
    synchronous = True
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        communication = options.get("communication", "auto")
        if communication not in _COMMUNICATION:
            raise UsageError(
                f"Strategy {self.name!r}: communication is {', '.join(_COMMUNICATION)}, not {communication!r}."
            )
        compression(self.name, options, replicas)
        steps_per_call(self.name, options)
        return rank_layout(self.name, replicas)

    def check_device(self, options: Mapping[str, Scalar], device: Device, *, xla: bool) -> None:
        if _implementation(str(options["communication"]), device) != "nccl":
            return
        if device != "gpu":
            # TensorFlow would say nothing, and take its ring.
            raise UsageError(
                f"Strategy {self.name!r}: communication='nccl' needs GPUs, as a test marked gpu has. Or take 'auto'."
            )
        check_nccl(self.name, str(options["compression"]), "communication='ring'")

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> EagerStep:
        self.check_device(options, device, xla=bool(params["xla"]))
        where = claim_device(task, device)
        import tensorflow as tf

        communication = _communication(str(options["communication"]), device)
        task.phase("connecting")
        # First of all: collectives have to be set up before TensorFlow's first operation.
        strategy = _strategy(task, communication, device)
        task.phase("building")
        xla, pack = bool(params["xla"]), bool(options["pack_gradients"])
        make = recipe(workload, params)
        with strategy.scope(), packed_variables(bool(options["pack_variables"])) as packing:
            built = build(make(), where)
        local = [strategy.experimental_local_results(variable)[0] for variable in built.parts]
        updates = FusedUpdates(workload.optimizer, local, where)
        exchanged = compression(self.name, options, strategy.num_replicas_in_sync)
        gradients = gradient_function(built, xla=xla, pack=pack, packing=packing, compression=exchanged)
        divisor = built.loss_scale * exchanged.divisor
        update = update_function(updates, local, xla=xla, packed=pack, divisor=divisor)

        def replica() -> Any:
            loss, found = gradients(*built.batches.next())
            # Summed, and divided inside a compiled function.
            context = tf.distribute.get_replica_context()
            update(context.all_reduce(tf.distribute.ReduceOp.SUM, found, options=communication))
            return loss

        def alone() -> Any:
            # As in the step, so that what was traced and compiled for it is used again.
            return strategy.run(lambda: gradients(*built.batches.next()))

        calls = steps_per_call(self.name, options)
        step = repeated(lambda: strategy.run(replica), calls)
        return EagerStep(step, built.batches.examples, updates, local, gradients=alone, steps_per_call=calls)


def _implementation(name: str, device: Device) -> str:
    """``nccl`` or ``ring``."""
    if name == "auto":
        return "nccl" if device == "gpu" else "ring"
    return name


def _communication(name: str, device: Device) -> Any:
    import tensorflow as tf

    kinds = tf.distribute.experimental.CommunicationImplementation
    implementation = kinds.NCCL if _implementation(name, device) == "nccl" else kinds.RING
    return tf.distribute.experimental.CommunicationOptions(implementation=implementation)


def _strategy(task: Task, communication: Any, device: Device) -> Any:
    """The strategy over the cluster's workers, whatever TF_CONFIG says.

    Raises:
        MeasurementError: it would not compute on the device that is to be measured.
    """
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({task.id.type: list(task.cluster[task.id.type])}),
        task_type=task.id.type,
        task_id=task.id.index,
        rpc_layer="grpc",
        # Without this the strategy takes the CPU, GPUs or not.
        num_accelerators={"GPU": 1} if device == "gpu" else None,
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver, communication_options=communication)
    chosen = strategy.extended.worker_devices
    if len(chosen) != 1 or (f"device:{device.upper()}:" not in chosen[0]):
        raise MeasurementError(f"{task.id} is to train on one {device.upper()}, but the strategy chose {chosen}.")
    return strategy
