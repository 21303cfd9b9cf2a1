"""One process, several devices, synchronous: `tf.distribute.MirroredStrategy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.compression import check_nccl, compression
from pytest_tfperf.strategies.devices import claim_devices, one_process_layout
from pytest_tfperf.strategies.eager_step import (
    EagerStep,
    Gradients,
    gradient_function,
    repeated,
    steps_per_call,
    update_function,
)
from pytest_tfperf.strategies.optimizers import FusedUpdates
from pytest_tfperf.strategies.packing import packed_variables
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.batches import eager_batches
from pytest_tfperf.workloads.building import build, recipe

_COLLECTIVES = ("between", "compiled")
_GROUP = 1
"""Key of the replicas' group in compiled collectives; the strategy's own groups are numbered from 1 too, but a compiled
collective and one of its are never in the same process."""


class Mirrored:
    """One process a job, in which a thread of TensorFlow's runs each replica.

    Option `collective` says where gradients are summed. ``between``: two compiled functions for each replica, and the
    strategy's all-reduce between them, NCCL on GPUs and a sum on one device on CPUs, as in `multi_worker_mirrored`.
    ``compiled``: the whole step is one XLA program for each replica, with the all-reduce inside, so that the host can
    start the next step before the gradients of this one are summed, and XLA may reduce some while it computes others.
    TensorFlow compiles collectives for the GPUs of one process only.
    Option `pack_gradients`, of ``between``: reduce one tensor of all gradients, not one for each variable. XLA itself
    combines those inside. Options `compression`, the type of gradients in the all-reduce, `steps_per_call`, the steps
    that one call of a `tf.function` makes, and `pack_variables` are as in `multi_worker_mirrored`: here one process
    starts the kernels of all its GPUs, so that what each call and each argument costs it counts as often.
    On a CPU run replicas are logical devices of the process.
    """

    name = "mirrored"
    options: Mapping[str, Scalar] = {
        "pack_gradients": True, "collective": "between", "compression": "none", "pack_variables": False,
        "steps_per_call": 1,
    }  # fmt: skip
    synchronous = True
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        collective = options.get("collective", "between")
        if collective not in _COLLECTIVES:
            raise UsageError(f"Strategy {self.name!r}: collective is {', '.join(_COLLECTIVES)}, not {collective!r}.")
        compression(self.name, options, replicas)
        steps_per_call(self.name, options)
        return one_process_layout(self.name, replicas)

    def check_device(self, options: Mapping[str, Scalar], device: Device, *, xla: bool) -> None:
        compiled = options["collective"] == "compiled"
        if compiled and device != "gpu":
            raise UsageError(
                f"Strategy {self.name!r}: collective='compiled' needs GPUs, as a test marked gpu has, and xla=True: "
                "XLA has no collectives for CPU devices in TensorFlow. Or leave it at 'between'."
            )
        if compiled and not xla:
            raise UsageError(
                f"Strategy {self.name!r}: collective='compiled' needs xla=True, as the all-reduce is to be in the step "
                "that XLA compiles. Or leave it at 'between'."
            )
        if device == "gpu" and not compiled:
            check_nccl(self.name, str(options["compression"]), "collective='compiled'")

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> EagerStep:
        xla, compiled = bool(params["xla"]), options["collective"] == "compiled"
        pack = bool(options["pack_gradients"]) and not compiled
        self.check_device(options, device, xla=xla)
        devices = claim_devices(task, device, replicas)
        import tensorflow as tf

        task.phase("building")
        strategy = tf.distribute.MirroredStrategy(list(devices))
        make = recipe(workload, params)
        with strategy.scope(), packed_variables(bool(options["pack_variables"])) as packing:
            made = make()
            built = build(made, devices[0])
        # A fixed batch lies on each replica's own device.
        batches = [built.batches, *(eager_batches(made.batch, where) for where in devices[1:])]
        copies = [strategy.experimental_local_results(variable) for variable in built.parts]
        local = [[copy[index] for copy in copies] for index in range(replicas)]
        updates = [FusedUpdates(workload.optimizer, local[i], devices[i]) for i in range(replicas)]
        exchanged = compression(self.name, options, replicas)
        divisor = built.loss_scale * exchanged.divisor

        def step_of(i: int) -> Callable[[Any, Any], Any]:
            gradients = gradient_function(built, xla=xla, pack=pack, packing=packing, compression=exchanged)
            update = update_function(updates[i], local[i], xla=xla, packed=pack, divisor=divisor)
            return _whole_step(gradients, update, replicas) if compiled else _divided_step(gradients, update)

        # Functions of its own for each replica, whose variables they capture.
        steps = [step_of(i) for i in range(replicas)]
        losses = [_loss_variable(where) for where in devices]

        def replica() -> None:
            index = int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
            losses[index].assign(steps[index](*batches[index].next()), read_value=False)

        calls = steps_per_call(self.name, options)
        step = repeated(lambda: strategy.run(replica), calls)
        return EagerStep(
            step, built.batches.examples, updates[0], local[0],
            replicas=replicas, loss_variables=losses, steps_per_call=calls,
        )  # fmt: skip


def _loss_variable(device: str) -> Any:
    """Where a replica writes its loss, on its own device.

    What a function returns is made on its first device, after all that it has to do on any: each loss would be copied
    there, and the host could not start the next step before all replicas have ended this one.
    """
    import tensorflow as tf

    with tf.device(device):
        return tf.Variable(float("nan"), trainable=False)


def _divided_step(gradients: Gradients, update: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
    """Gradients, the strategy's all-reduce, update; gives the replica's loss. To be called in its replica context."""
    import tensorflow as tf

    def step(features: Any, labels: Any) -> Any:
        loss, found = gradients(features, labels)
        # Summed, and divided inside a compiled function.
        update(tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, found))
        return loss

    return step


def _whole_step(gradients: Gradients, update: Callable[[Any], None], replicas: int) -> Callable[[Any, Any], Any]:
    """The same as one XLA program."""
    import tensorflow as tf

    def step(features: Any, labels: Any) -> Any:
        loss, found = gradients(features, labels)
        if replicas > 1:
            found = [_all_reduce(gradient, replicas) for gradient in found]
        update(found)
        return loss

    function: Callable[[Any, Any], Any] = tf.function(step, jit_compile=True, autograph=False)
    return function


def _all_reduce(tensor: Any, replicas: int) -> Any:
    """The sum over all replicas, as an operation that XLA compiles into its own collective."""
    import tensorflow as tf

    # XLA tells collectives apart by their place in the program, which is the same for all replicas; one step's from the
    # next one's nothing tells but their order, in which the variables of a replica put its steps.
    return tf.raw_ops.CollectiveReduceV2(
        input=tensor,
        group_size=replicas,
        group_key=_GROUP,
        instance_key=_GROUP,
        ordering_token=[],
        merge_op="Add",
        final_op="Id",
        communication_hint="nccl",
    )
