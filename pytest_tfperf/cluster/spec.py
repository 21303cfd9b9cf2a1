"""Who is in a cluster and where: ids and addresses, TF_CONFIG, and what each task gets of the machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import Layout, TaskId, TaskPlacement

_JOB_ORDER = ("chief", "worker", "ps")


def job_order(id: TaskId) -> tuple[int, str, int]:
    """Sort key: chief, workers, parameter servers, then any other job by name."""
    rank = _JOB_ORDER.index(id.type) if id.type in _JOB_ORDER else len(_JOB_ORDER)
    return rank, id.type, id.index


def cluster_spec(addresses: Mapping[TaskId, str]) -> dict[str, list[str]]:
    """Job name to addresses, as ``tf.train.ClusterSpec`` takes it.

    Raises UsageError unless the indices of every job are 0, 1, 2 and so on: TensorFlow reads them off the order.
    """
    spec: dict[str, list[str]] = {}
    for id in sorted(addresses, key=job_order):
        job = spec.setdefault(id.type, [])
        if id.index != len(job):
            raise UsageError(f"{id} is in the cluster but {id.type}:{len(job)} is not: number each job's tasks from 0.")
        job.append(addresses[id])
    return spec


def tf_config(spec: Mapping[str, Sequence[str]], id: TaskId) -> str:
    """The TF_CONFIG variable of one task."""
    cluster = {job: list(addresses) for job, addresses in spec.items()}
    return json.dumps({"cluster": cluster, "task": {"type": id.type, "index": id.index}})


def on_hosts(placed: Sequence[TaskPlacement], hosts: Mapping[str, int] | Sequence[int]) -> tuple[TaskPlacement, ...]:
    """The same tasks spread over hosts that a `Link` joins.

    `hosts`: a number for each task in order, or by name, a task's (``worker:1``) before its job's (``worker``). Raises
    UsageError where a task has no number.
    """
    if not isinstance(hosts, Mapping):
        if len(hosts) != len(placed):
            raise UsageError(f"{len(hosts)} hosts are given for {len(placed)} tasks: name one for each.")
        return tuple(replace(one, host=host) for one, host in zip(placed, hosts, strict=True))
    known = {str(one.id) for one in placed} | {one.id.type for one in placed}
    if unknown := sorted(set(hosts) - known):
        raise UsageError(f"{', '.join(unknown)} is given a host but is not in the cluster.")
    spread = []
    for one in placed:
        host = hosts.get(str(one.id), hosts.get(one.id.type))
        if host is None:
            raise UsageError(f"{one.id} is given no host.")
        spread.append(replace(one, host=host))
    return tuple(spread)


def host_address(host: int) -> str:
    """The address of a host on the network that joins the cluster's hosts, 10.0.0.0/16."""
    if not 0 <= host < 65_000:
        raise UsageError(f"{host} is no number of a host; count them from 0.")
    high, low = divmod(host + 1, 256)
    return f"10.0.{high}.{low}"


def placements(
    layout: Layout, *, gpus: Sequence[str] = (), cores: Sequence[int] | None = None
) -> tuple[TaskPlacement, ...]:
    """Spread a layout over the machine.

    Each training task (chief and workers) gets `replicas_per_worker` of `gpus`, in order; a parameter server, and a
    chief that does not train, get none. With `cores`, each training task is pinned to its own equal share of them and
    the others to what is left over, or to all of them where nothing is. Raises UsageError where GPUs or cores do not
    go round.
    """
    chief = [TaskId("chief", 0)] if layout.chief else []
    training = chief if layout.chief_trains else []
    training = training + [TaskId("worker", index) for index in range(layout.workers)]
    others = [TaskId("ps", index) for index in range(layout.ps)]
    per_task = layout.replicas_per_worker if gpus else 0
    if per_task * len(training) > len(gpus):
        raise UsageError(f"needs {per_task * len(training)} GPUs, this machine has {len(gpus)}")
    share = len(cores) // max(1, len(training)) if cores is not None else 0
    if cores is not None and share == 0:
        raise UsageError(f"needs {len(training)} cores to pin to, this machine has {len(cores)}")
    placed = []
    for index, id in enumerate(training):
        own = tuple(gpus[index * per_task : (index + 1) * per_task])
        pinned = None if cores is None else tuple(cores[index * share : (index + 1) * share])
        placed.append(TaskPlacement(id, own, pinned))
    left = None if cores is None else tuple(cores[len(training) * share :]) or tuple(cores)
    placed += [TaskPlacement(id, (), left) for id in others]
    # A chief that does not train stands first all the same, as a chief does.
    return tuple(placed if layout.chief_trains else [*(TaskPlacement(id, (), left) for id in chief), *placed])
