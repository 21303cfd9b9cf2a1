"""Report 003: ResNet-110 on CIFAR-10 trains no faster on eight GPUs of four machines than on one.

Reported (2017, TensorFlow 1.1, Titan X and GTX 1080, 1 and then 2 Gbit/s): about 3 iterations/s on one GPU, and about
3 in each of six topologies of parameter servers and workers. Measured: throughput of the whole job beside one worker's
steps, and an arm without each suspect beside one with it: the way of counting, the input, small variables, bytes, the
line. Why: each of 547 small variables costs a round trip, wherever the server is; docs/reports.md has each verdict.
What to do: move as many bytes in few tensors, as test_003_remedied does by one packed all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_tfperf.fixtures import Measured

FOUR_HOSTS = [f"worker:{2 * host} worker:{2 * host + 1}" for host in range(4)]
TOPOLOGIES = {
    "1_ps_2_workers_on_1_machine": (2, 1, ["ps:0 worker:0 worker:1"]),
    "1_ps_1_worker_and_1_worker": (2, 1, ["ps:0 worker:0", "worker:1"]),
    "1_ps_2_workers_and_2_workers": (4, 1, ["ps:0 worker:0 worker:1", "worker:2 worker:3"]),
    "1_ps_8_workers_on_4_machines": (8, 1, [f"ps:0 {FOUR_HOSTS[0]}", *FOUR_HOSTS[1:]]),
    "2_ps_8_workers_on_4_machines": (8, 2, [f"ps:0 {FOUR_HOSTS[0]}", f"ps:1 {FOUR_HOSTS[1]}", *FOUR_HOSTS[2:]]),
    "4_ps_8_workers_on_4_machines": (8, 4, [f"ps:{host} {tasks}" for host, tasks in enumerate(FOUR_HOSTS)]),
}


def reported(topology: str, link: str) -> Callable[[Measured], None]:
    replicas, servers, hosts = TOPOLOGIES[topology]

    @pytest.mark.gpu
    @pytest.mark.tfperf(
        "resnet110", strategy="ps_async", replicas=[replicas], ps=servers, link=link, hosts=hosts,
        variant=f"{topology}-{link}", tolerance=0.25,
    )  # fmt: skip
    def test(tfperf: Measured) -> None:
        tfperf.check()

    return test


# A test function for each, so that each has its own node id and baseline.
for _topology in TOPOLOGIES:
    for _link in ("1gbit", "2gbit"):
        globals()[f"test_003_reported_{_topology}_{_link}"] = reported(_topology, _link)


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2, 4], tolerance=0.25, suspect="counting one worker's steps"
)
def test_003_suspect_counting(tfperf: Measured) -> None:
    """Whether the job, on one machine, is faster than one GPU although its workers' steps are not."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2, 4], input="synthetic", variant="suspect-input", tolerance=0.25,
    suspect="input on the CPU", versus={"input": "records"},
)  # fmt: skip
def test_003_suspect_input(tfperf: Measured) -> None:
    """Batches that lie on the device, against records that CPU cores read, shuffle and augment."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2, 4], placement="packed", variant="suspect-variables", tolerance=0.25,
    suspect="number of small variables", versus={"placement": "round_robin"},
)  # fmt: skip
def test_003_suspect_variables(tfperf: Measured) -> None:
    """As many bytes in two tensors each way, against hundreds of tensors."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2, 4], variant="suspect-bytes", tolerance=0.25,
    suspect="bytes", versus={"ballast": 1_727_962},
)  # fmt: skip
def test_003_suspect_bytes(tfperf: Measured) -> None:
    """Against the same with as many bytes again in one more variable: double bytes, hardly more transfers."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2], variant="suspect-line", tolerance=0.25,
    suspect="the line", versus={"link": "1gbit", "hosts": ["ps:0 worker:0", "worker:1"]},
)  # fmt: skip
def test_003_suspect_line(tfperf: Measured) -> None:
    """All on one machine, against two machines."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="multi_worker_mirrored", replicas=[2, 4], steps_per_call=8, pack_variables=True,
    tolerance=0.15, min_efficiency={2: 0.7, 4: 0.6}, versus="ps_async", min_speedup={2: 1.25, 4: 1.1},
)  # fmt: skip
def test_003_remedied(tfperf: Measured) -> None:
    """A step reduces 6.9 MB in one. On two H200s E(2) is 0.95, and it is 2.0 times as fast as behind a server beside
    them; with one step a call and 547 variables it was 0.86 and 1.44.
    """
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet110", strategy="mirrored", collective="compiled", replicas=[2, 4], steps_per_call=8, pack_variables=True,
    xla=True, tolerance=0.10, min_efficiency={2: 0.85, 4: 0.75},
)  # fmt: skip
def test_003_in_one_process(tfperf: Measured) -> None:
    """The all-reduce inside the compiled step. On two H200s E(2) is 1.0, of a T(1) that XLA makes 2.4 times as fast
    as that of `test_003_remedied` in the same session.
    """
    tfperf.check()


# Twenty layers of a quarter of the width: 97 variables of 70 kB in all, so round trips matter as they do at full size.
SMALL = {"batch_size": 4, "depth": 20, "width": 0.25, "image_size": 8, "input": "synthetic"}


@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2], **SMALL, variant="small", tolerance=0.4, rounds=3,
    suspect="counting one worker's steps",
)  # fmt: skip
def test_003_suspect_counting_small(tfperf: Measured) -> None:
    """The reported arm on two CPU cores."""
    tfperf.check()


@pytest.mark.tfperf(
    "resnet110", strategy="ps_async", replicas=[2], **SMALL, placement="packed", variant="small-variables",
    tolerance=0.4, rounds=3, suspect="number of small variables", versus={"placement": "round_robin"}, min_speedup=1.5,
)  # fmt: skip
def test_003_suspect_variables_small(tfperf: Measured) -> None:
    tfperf.check()


# These are tried with one worker: what it waits for is its own, and two cores have no third for a second worker.
ONE = {"strategy": "ps_async", "reference": "ps_async", "replicas": [1], "tolerance": 0.4, "rounds": 3}


@pytest.mark.tfperf(
    "resnet110", **ONE, **SMALL | {"image_size": 32}, variant="small-input",
    suspect="input on the CPU", versus={"input": "records"},
)  # fmt: skip
def test_003_suspect_input_small(tfperf: Measured) -> None:
    """Records have 32 x 32 pixels. Here what reads them and what computes share two cores."""
    tfperf.check()


@pytest.mark.tfperf(
    "resnet110", **ONE, **SMALL, variant="small-bytes", suspect="bytes", versus={"ballast": 17_000}
)  # fmt: skip
def test_003_suspect_bytes_small(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.tfperf(
    "resnet110", **ONE, **SMALL, variant="small-line", suspect="the line", versus={"link": "80mbit"}
)  # fmt: skip
def test_003_suspect_line_small(tfperf: Measured) -> None:
    """A step moves a hundredth of the bytes in an eighth of the time, so the line has a twelfth of the rate."""
    tfperf.check()


@pytest.mark.tfperf(
    "resnet110", strategy="multi_worker_mirrored", replicas=[2], **SMALL, variant="small", tolerance=0.4,
    min_efficiency=0.15, versus="ps_async", min_speedup=1.5,
)  # fmt: skip
def test_003_remedied_small(tfperf: Measured) -> None:
    """Measured beside other work on two cores: E(2) about 0.5, 4.5 times as fast; the floors are a third of both."""
    tfperf.check()
