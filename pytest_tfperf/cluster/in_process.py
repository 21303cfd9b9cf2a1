"""A cluster within this process: several TensorFlow servers, one thread per task. For plumbing, not for speed.

The tasks share one interpreter, one eager context and one set of threads, so nothing that is timed here says anything
about a cluster. It is for tests that talk to ``task.target`` themselves. TensorFlow can neither stop a server nor
configure its devices twice: servers are kept and used again for every cluster of the same shape, and the most logical
devices are configured once.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

from pytest_tfperf.cluster import ports, spec
from pytest_tfperf.cluster.generated import keep_generated_code
from pytest_tfperf.cluster.shortage import start_errors
from pytest_tfperf.cluster.thread_task import InProcessTask
from pytest_tfperf.cluster.threads import InProcessCluster
from pytest_tfperf.errors import ClusterStartError, TensorFlowMissingError, UsageError
from pytest_tfperf.records.task import TaskId, TaskPlacement

DEFAULT_DEVICES = 8
"""Logical CPU devices that all tasks of a cluster share out."""
_ATTEMPTS = 5

_Shape = tuple[tuple[str, int, bool], ...]
_servers: dict[_Shape, dict[TaskId, Any]] = {}


def start_in_process(
    placements: Sequence[TaskPlacement], *, devices: int = DEFAULT_DEVICES, devices_per_task: int | None = None
) -> InProcessCluster:
    """Start a TensorFlow server per placement in this process, or take those of an earlier cluster of this shape.

    `devices` logical CPU devices are configured by the first call; every cluster shares them out evenly, or gives
    each task `devices_per_task` of them. Raises TensorFlowMissingError, UsageError for placements that are no cluster,
    and ClusterStartError where ports are taken again and again, TensorFlow already runs with too few devices, or the
    system refuses a file or a socket.
    """
    ordered = sorted(placements, key=lambda placement: spec.job_order(placement.id))
    if not ordered:
        raise UsageError("A cluster needs at least one task.")
    spec.cluster_spec({placement.id: "" for placement in ordered})
    names = _logical_devices(devices, len(ordered) * (devices_per_task or 1))
    with start_errors():
        _keep_generated_code_private()
    shape: _Shape = tuple((one.id.type, one.id.index, bool(one.gpus)) for one in ordered)
    if shape not in _servers:
        _servers[shape] = _start_servers(ordered)
    servers = _servers[shape]
    addresses = spec.cluster_spec({id: server.target.removeprefix("grpc://") for id, server in servers.items()})
    share = devices_per_task or len(names) // len(ordered)
    tasks = [
        InProcessTask(one, addresses, servers[one.id], names[index * share : (index + 1) * share])
        for index, one in enumerate(ordered)
    ]
    return InProcessCluster(tasks, ordered)


@functools.cache
def _keep_generated_code_private() -> None:
    folder, owner = tempfile.mkdtemp(prefix="pytest-tfperf-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a process that was forked inherits exit handlers
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    keep_generated_code(folder)


def _logical_devices(wanted: int, needed: int) -> tuple[str, ...]:
    try:
        import tensorflow as tf
    except ModuleNotFoundError as error:
        if error.name == "tensorflow":
            raise TensorFlowMissingError from None
        raise
    physical = tf.config.list_physical_devices("CPU")[0]
    if tf.config.get_logical_device_configuration(physical) is None:
        configuration = [tf.config.LogicalDeviceConfiguration() for _ in range(max(wanted, needed))]
        with contextlib.suppress(RuntimeError):  # something in this process has used TensorFlow already
            tf.config.set_logical_device_configuration(physical, configuration)
    names = tuple(device.name for device in tf.config.list_logical_devices("CPU"))
    if len(names) < needed:
        raise ClusterStartError(
            f"TensorFlow runs in this process with {len(names)} CPU devices, and this cluster needs {needed}. It "
            "cannot be configured again: start the largest in-process cluster first, before other code uses TensorFlow."
        )
    return names


def _start_servers(placements: Sequence[TaskPlacement]) -> dict[TaskId, Any]:
    import tensorflow as tf

    picker = ports.PortPicker()
    with start_errors():
        here = ports.loopback()
    for attempt in range(1, _ATTEMPTS + 1):
        picked = picker.pick(len(placements))
        addresses = {one.id: f"{here}:{port}" for one, port in zip(placements, picked, strict=True)}
        cluster = tf.train.ClusterSpec(spec.cluster_spec(addresses))
        servers: dict[TaskId, Any] = {}
        try:
            for one in placements:
                config = tf.compat.v1.ConfigProto(device_count=None if one.gpus else {"GPU": 0})
                id = one.id
                servers[id] = tf.distribute.Server(
                    cluster, job_name=id.type, task_index=id.index, protocol="grpc", config=config
                )
            return servers
        except tf.errors.OpError as error:
            # The servers that did start stay, on ports that nobody will ask for again.
            if attempt == _ATTEMPTS or not ports.is_clash(str(error)):
                raise ClusterStartError(f"TensorFlow could not start a server: {error}") from error
    raise AssertionError("unreachable")
