"""Puts one start of a cluster together: its ports and addresses, its network, and what each task is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pytest_tfperf.cluster import spec
from pytest_tfperf.cluster.faults import Fault, culprits_of, fault_error, timeout_error
from pytest_tfperf.cluster.generated import GENERATED
from pytest_tfperf.cluster.messages import TaskReady, TaskSettings
from pytest_tfperf.cluster.network import Network
from pytest_tfperf.cluster.nursery import Nursery
from pytest_tfperf.cluster.ports import PortClashError, PortHold, PortPicker, loopback
from pytest_tfperf.cluster.process import task_environ
from pytest_tfperf.cluster.task_group import TaskGroup
from pytest_tfperf.cluster.task_process import Exited
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.task import TaskId, TaskPlacement


def start_group(
    nursery: Nursery,
    placements: Sequence[TaskPlacement],
    env: Mapping[str, str],
    link: Link | None,
    *,
    picker: PortPicker,
    preload: tuple[str, ...],
    log_dir: Path,
) -> TaskGroup:
    """Start every task's process and wait for none.

    `picker` picks ports where the tasks' are among the machine's. Raises PortClashError, ClusterStartError and
    SupervisorGoneError.
    """
    with ExitStack() as started:
        hold: PortHold | None = None
        network: Network | None = None
        if nursery.isolation == "namespace":
            picked = nursery.pick_ports(len(placements))
        else:
            picked = picker.pick(len(placements))
            try:
                hold = PortHold(picked)
            except OSError as error:
                raise PortClashError(f"One of the ports {picked} was taken: {error}.") from None
            started.callback(hold.close)
        if link is not None:
            network = Network(nursery, link, sorted({one.host for one in placements}), nursery.new_key())
            started.callback(network.close)
        here = loopback() if hold is not None else "127.0.0.1"  # a namespace's own has both kinds
        addresses = {
            one.id: f"{here if network is None else spec.host_address(one.host)}:{port}"
            for one, port in zip(placements, picked, strict=True)
        }
        generated = str((log_dir / GENERATED).absolute())
        settings = [
            _settings(one, addresses, env, preload, generated, shares_port=hold is not None) for one in placements
        ]
        hosts = {one.id: one.host for one in placements}
        group = TaskGroup(nursery, settings, log_dir, hold, network, hosts)
        started.pop_all()  # it is the group that ends them now
    return group


def await_ready(group: TaskGroup, deadline: float, seconds: float, told: Callable[[TaskId], None]) -> None:
    """Wait for every task of a start that was given `seconds`, until `deadline`; `told` hears of each that is ready.

    Raises TaskDiedError, ClusterTimeoutError, PortClashError and SupervisorGoneError; the group stays as it is.
    """
    waiting = set(group.tasks)
    while waiting:
        events = group.wait(deadline)
        for task, message in events:
            if isinstance(message, Exited):
                raise fault_error(Fault(task.id, message.code), task.phase, group.states({}, (task.id,)))
            if isinstance(message, TaskReady):
                if not message.port_is_free:
                    raise PortClashError(f"The port of {task.id} was taken by another program.")
                waiting.discard(task.id)
                task.phase = "ready"
                told(task.id)
        if not events:
            phases = {id: task.phase for id, task in group.tasks.items()}
            held = group.held()
            culprits = culprits_of(sorted(waiting), {}, held)
            states = group.states(held, culprits)
            raise timeout_error(culprits, held, phases, seconds, states, starting=True)


def _settings(
    placement: TaskPlacement,
    addresses: Mapping[TaskId, str],
    env: Mapping[str, str],
    preload: tuple[str, ...],
    generated: str,
    *,
    shares_port: bool,
) -> TaskSettings:
    jobs = {job: tuple(some) for job, some in spec.cluster_spec(addresses).items()}
    return TaskSettings(
        id=placement.id,
        addresses=jobs,
        gpus=placement.gpus,
        cores=placement.cores,
        environ=task_environ(os.environ, env, placement, jobs, shares_port=shares_port),
        sys_path=tuple(sys.path),
        cwd=os.getcwd(),
        preload=preload,
        shares_port=shares_port,
        generated=generated,
    )
