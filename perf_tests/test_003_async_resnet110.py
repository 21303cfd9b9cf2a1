"""Report 003: ResNet-110 on CIFAR-10 trains no faster on eight GPUs of four machines than on one.

Reported (2017, TensorFlow 1.1, Titan X and GTX 1080, 1 and then 2 Gbit/s): about 3 iterations/s on one GPU, and about
3 in each of six topologies of parameter servers and workers. Measured: throughput of the whole job beside one worker's
steps, and arms that differ in one suspect each: the line, the bytes, the input. Why: several things at once. An
asynchronous worker's iterations are not the job's; 547 small variables cost a round trip each, wherever the server is;
and eight workers fill 1 Gbit/s. What to do: all-reduce; see test_003_remedied.
"""

from __future__ import annotations

import pytest

from pytest_tfperf.fixtures import Measured

FOUR_HOSTS = [f"worker:{2 * host} worker:{2 * host + 1}" for host in range(4)]
TOPOLOGIES = {
    "1-ps-2-workers-1-machine": (2, 1, ["ps:0 worker:0 worker:1"]),
    "1-ps-1-worker-and-1-worker": (2, 1, ["ps:0 worker:0", "worker:1"]),
    "1-ps-2-workers-and-2-workers": (4, 1, ["ps:0 worker:0 worker:1", "worker:2 worker:3"]),
    "1-ps-8-workers-4-machines": (8, 1, [f"ps:0 {FOUR_HOSTS[0]}", *FOUR_HOSTS[1:]]),
    "2-ps-8-workers-4-machines": (8, 2, [f"ps:0 {FOUR_HOSTS[0]}", f"ps:1 {FOUR_HOSTS[1]}", *FOUR_HOSTS[2:]]),
    "4-ps-8-workers-4-machines": (8, 4, [f"ps:{host} {tasks}" for host, tasks in enumerate(FOUR_HOSTS)]),
}


def reported(topology: str, link: str) -> pytest.MarkDecorator:
    replicas, servers, hosts = TOPOLOGIES[topology]
    return pytest.mark.tfperf(
        "resnet110", strategy="ps_async", replicas=[replicas], ps=servers, link=link, hosts=hosts,
        variant=f"{topology}-{link}", tolerance=0.25,
    )  # fmt: skip


@pytest.mark.gpu
@reported("1-ps-2-workers-1-machine", "1gbit")
def test_003_reported_one_machine(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@reported("1-ps-1-worker-and-1-worker", "1gbit")
def test_003_reported_two_machines(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@reported("1-ps-2-workers-and-2-workers", "1gbit")
def test_003_reported_two_machines_four_workers(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@reported("1-ps-8-workers-4-machines", "1gbit")
def test_003_reported_four_machines_one_ps(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@reported("2-ps-8-workers-4-machines", "1gbit")
def test_003_reported_four_machines_two_ps(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@reported("4-ps-8-workers-4-machines", "1gbit")
def test_003_reported_four_machines_four_ps(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@reported("4-ps-8-workers-4-machines", "2gbit")
def test_003_reported_four_machines_four_ps_2gbit(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2, 4], input="synthetic", variant="suspect-input", tolerance=0.25,
    versus={"input": "records"},
)  # fmt: skip
def test_003_suspect_input(tfperf: Measured) -> None:
    """The same without the input pipeline on the CPU."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2, 4], width=0.5, variant="suspect-bytes", tolerance=0.25,
    versus={"width": 1.0},
)  # fmt: skip
def test_003_suspect_bytes(tfperf: Measured) -> None:
    """As many variables, a quarter of the bytes and of the arithmetic."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="multi_worker_mirrored", replicas=[2, 4], tolerance=0.15, versus="ps_async", min_speedup=1.5
)
def test_003_remedied(tfperf: Measured) -> None:
    tfperf.check()


SMALL = {"batch_size": 16, "depth": 8, "width": 0.5}


@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2], **SMALL, variant="small-link", tolerance=0.4, rounds=3,
    versus={**SMALL, "link": "20mbit", "hosts": ["ps:0 worker:0", "worker:1"]},
)  # fmt: skip
def test_003_suspect_line_small(tfperf: Measured) -> None:
    """Eight layers, and a line that is slower by as much as they are fewer, against one machine: little difference."""
    tfperf.check()
