"""One process, one device: the reference that scaling is measured against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar
from pytest_tfperf.records.task import Layout, Task
from pytest_tfperf.strategies.devices import claim_device
from pytest_tfperf.strategies.eager_step import EagerStep, gradient_function, update_function
from pytest_tfperf.strategies.optimizers import FusedUpdates
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.building import build, recipe


class Single:
    """Gradients and update are a function each, compiled by XLA where the workload says so.

    Kept apart as in `multi_worker_mirrored`, where the all-reduce comes between them: so T(1) and T(N) differ
    by distribution only. On an H100 the pair reached 5,729 images/s with ResNet-50 where compiling only the
    gradients reached 5,483.
    """

    name = "single"
    options: Mapping[str, Scalar] = {}
    synchronous = True
    updates_are_global = False
    measured_job = "worker"

    def layout(self, replicas: int, options: Mapping[str, Scalar]) -> Layout:
        if replicas != 1:
            raise UsageError(f"Strategy 'single' is one process on one device; it cannot have {replicas} replicas.")
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
        with tf.device(where):
            built = build(make(), where)
        updates = FusedUpdates(workload.optimizer, built.variables, where)
        gradients = gradient_function(built, xla=xla, pack=False)
        update = update_function(updates, built.variables, xla=xla, packed=False, divisor=built.loss_scale)

        def step() -> Any:
            with tf.device(where):
                loss, found = gradients(*built.batches.next())
                update(found)
                return loss

        return EagerStep(tf.function(step, autograph=False), built.batches.examples, updates, built.variables)
