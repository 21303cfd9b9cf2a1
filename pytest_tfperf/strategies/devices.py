"""What a task may compute on."""

from __future__ import annotations

from pytest_tfperf.errors import MeasurementError, UsageError
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.task import Layout, Task


def rank_layout(strategy: str, replicas: int) -> Layout:
    """One process a replica.

    Raises:
        UsageError: `replicas` is below 1.
    """
    if replicas < 1:
        raise UsageError(f"Strategy {strategy!r} needs at least 1 replica, not {replicas}.")
    return Layout(workers=replicas)


def one_process_layout(strategy: str, replicas: int) -> Layout:
    """All replicas in one process, which is given a device for each.

    Raises:
        UsageError: `replicas` is below 1.
    """
    rank_layout(strategy, replicas)
    return Layout(workers=1, replicas_per_worker=replicas)


def claim_device(task: Task, device: Device) -> str:
    """Let TensorFlow see only what the task is to compute on; give the name of that device, ``GPU:0`` or ``CPU:0``.

    Call it before TensorFlow has touched a device. Never falls back: a CPU measured in a GPU's name is a lie.

    Raises:
        MeasurementError: the task is to use a GPU and TensorFlow sees none.
    """
    return claim_devices(task, device, 1)[0]


def claim_devices(task: Task, device: Device, count: int) -> tuple[str, ...]:
    """The same for several devices, ``GPU:0`` and on; on a CPU run it is split into logical devices ``CPU:0`` and on.

    Raises:
        MeasurementError: TensorFlow sees fewer GPUs than `count`.
    """
    import os

    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if device == "gpu" and len(gpus) < count:
        seen = f"only {len(gpus)}" if gpus else "none"
        raise MeasurementError(
            f"{task.id} is to train on {'a GPU' if count == 1 else f'{count} GPUs'}, but TensorFlow sees {seen} there "
            f"(CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', '')!r}, "
            f"TensorFlow built with CUDA: {tf.test.is_built_with_cuda()}). Its log may name a missing library."
        )
    wanted = gpus[:count] if device == "gpu" else []
    if gpus != wanted:
        tf.config.set_visible_devices(wanted, "GPU")
    if device == "gpu":
        return tuple(f"GPU:{index}" for index in range(count))
    if count > 1:
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
        tf.config.set_logical_device_configuration(cpu, parts)
    return tuple(f"CPU:{index}" for index in range(count))
