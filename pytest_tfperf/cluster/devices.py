"""Devices inside a task, set before anything touches one."""

from __future__ import annotations

from pytest_tfperf.records.task import Task


def set_logical_cpu_devices(task: Task, count: int) -> None:
    """Run in a task: split its CPU into `count` logical devices, ``/CPU:0`` and on, as GPUs would be."""
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(count)])
