"""Clusters of tasks on this machine: real processes, or servers within this one."""

from __future__ import annotations

from pytest_tfperf.cluster.base import (
    DEFAULT_RUN_TIMEOUT,
    DEFAULT_START_TIMEOUT,
    Cluster,
    ClusterEvent,
    ClusterTask,
    Isolation,
    LauncherKind,
    Results,
    TaskFunction,
)
from pytest_tfperf.cluster.devices import set_logical_cpu_devices
from pytest_tfperf.cluster.in_process import start_in_process
from pytest_tfperf.cluster.launcher import ClusterLauncher
from pytest_tfperf.cluster.multi_process import MultiProcessCluster
from pytest_tfperf.cluster.spec import on_hosts, placements
from pytest_tfperf.cluster.threads import InProcessCluster

__all__ = [
    "DEFAULT_RUN_TIMEOUT",
    "DEFAULT_START_TIMEOUT",
    "Cluster",
    "ClusterEvent",
    "ClusterLauncher",
    "ClusterTask",
    "InProcessCluster",
    "Isolation",
    "LauncherKind",
    "MultiProcessCluster",
    "Results",
    "TaskFunction",
    "on_hosts",
    "placements",
    "set_logical_cpu_devices",
    "start_in_process",
]
