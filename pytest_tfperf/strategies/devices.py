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


def claim_device(task: Task, device: Device) -> str:
    """Let TensorFlow see only what the task is to compute on; give the name of that device, ``GPU:0`` or ``CPU:0``.

    Call it before TensorFlow has touched a device. Never falls back: a CPU measured in a GPU's name is a lie.

    Raises:
        MeasurementError: the task is to use a GPU and TensorFlow sees none.
    """
    import os

    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if device == "gpu" and not gpus:
        raise MeasurementError(
            f"{task.id} is to train on a GPU, but TensorFlow sees none there "
            f"(CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', '')!r}, "
            f"TensorFlow built with CUDA: {tf.test.is_built_with_cuda()}). Its log may name a missing library."
        )
    wanted = gpus[:1] if device == "gpu" else []
    if gpus != wanted:
        tf.config.set_visible_devices(wanted, "GPU")
    return "GPU:0" if device == "gpu" else "CPU:0"
