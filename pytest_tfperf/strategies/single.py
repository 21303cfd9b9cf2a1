"""One process, one device: the reference that scaling is measured against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.devices import claim_device
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


class Single:
    """With XLA the whole step is one compiled function; without, one that calls those of gradients and update.

    A strategy has to divide it where gradients are exchanged, so what its compiled functions cost by being several is
    part of what distribution costs. A network of hundreds of small variables feels it: on an H200 one function trains
    ResNet-110 at 1.6 times the speed of two, and ResNet-50 and AlexNet as fast as two. With a fixed batch and one step
    a call the host calls the compiled function directly. A pipeline or a batch function is nothing to compile, and the
    function that calls both it and the compiled one takes ResNet-110 a sixth longer.

    Options, as in `multi_worker_mirrored`: `pack_variables` makes the model's variables slices of one, and
    `steps_per_call` puts so many steps into one call of a `tf.function`. As the reference of a strategy that has such
    an option too, it takes the strategy's value: steps that the host starts one by one may take longer for that alone,
    and T(1) would be too low and E(N) too high.
    """

    name = "single"
    options: Mapping[str, Scalar] = {"pack_variables": False, "steps_per_call": 1}
    synchronous = True
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        if replicas != 1:
            raise UsageError(f"Strategy 'single' is one process on one device; it cannot have {replicas} replicas.")
        steps_per_call(self.name, options)
        return Layout(workers=1)

    def build(
        self,
        task: Task,
        workload: WorkloadDefinition,
        params: Mapping[str, object],
        options: Mapping[str, Scalar],
        device: Device,
        replicas: int,
    ) -> EagerStep:
        where = claim_device(task, device)
        import tensorflow as tf

        xla = bool(params["xla"])
        make = recipe(workload, params)
        with tf.device(where), packed_variables(bool(options["pack_variables"])) as packing:
            built = build(make(), where)
        updates = FusedUpdates(workload.optimizer, built.parts, where)
        gradients = gradient_function(built, xla=xla, pack=False, packing=packing)
        update = update_function(updates, built.parts, xla=xla, packed=False, divisor=built.loss_scale)

        def train(features: Any, labels: Any) -> Any:
            loss, found = gradients(features, labels)
            update(found)
            return loss

        def step() -> Any:
            with tf.device(where):
                return train(*built.batches.next())

        whole = xla and built.batches.fixed
        if xla and not whole:
            # A pipeline's next batch, or what a user's function does to make one, is not XLA's to compile.
            train = tf.function(train, jit_compile=True, autograph=False)
        function = tf.function(step, jit_compile=True if whole else None, autograph=False)
        calls = steps_per_call(self.name, options)
        if calls > 1:
            function = repeated(function, calls)
        return EagerStep(function, built.batches.examples, updates, built.parts, steps_per_call=calls)
