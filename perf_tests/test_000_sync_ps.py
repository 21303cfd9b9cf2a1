"""Report 000: synchronous training behind parameter servers stops scaling at a few GPUs.

Reported (2016, TensorFlow 0.11, up to 128 K80s): Inception v3 keeps 68 % at 8 GPUs and 35 % at 16, AlexNet 72 and
48 %, ResNet-152 45 and 25 %. Measured: the three models, a worker a GPU and one CPU parameter server a host, gradients
summed by SyncReplicasOptimizer, at as many workers as there are GPUs. Why: every worker pulls all variables and pushes
all gradients every step through one server's gRPC; AlexNet's author also fed the batch, 154 MB, through feed_dict.
What to do: keep the variables with the workers and all-reduce the gradients, as test_000_remedied_* do.
"""

from __future__ import annotations

import pytest

from pytest_tfperf.fixtures import Measured

COUNTS = [1, 2, 4, 8, 16]
PS = {"strategy": "ps_sync", "placement": "round_robin"}


@pytest.mark.gpu
@pytest.mark.tfperf("inception_v3", strategy="ps_sync", replicas=COUNTS, batch_size=32, tolerance=0.25)
def test_000_reported_inception_v3(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf("resnet152", strategy="ps_sync", replicas=COUNTS, batch_size=32, xla=False, tolerance=0.25)
def test_000_reported_resnet152(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf("alexnet", strategy="ps_sync", replicas=COUNTS, batch_size=256, tolerance=0.25)
def test_000_reported_alexnet(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "alexnet", strategy="ps_sync", replicas=COUNTS, batch_size=256, feed=True, variant="fed", tolerance=0.25
)
def test_000_reported_alexnet_fed(tfperf: Measured) -> None:
    """As the author had it: a batch in NumPy, fed every step."""
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "inception_v3", strategy="multi_worker_mirrored", replicas=[2, 4, 8], batch_size=32, tolerance=0.10,
    min_efficiency=0.5, versus=PS, min_speedup=1.5,
)  # fmt: skip
def test_000_remedied_inception_v3(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet152", strategy="multi_worker_mirrored", replicas=[2, 4, 8], batch_size=32, steps_per_call=8,
    pack_variables=True, tolerance=0.10, min_efficiency=0.5, versus=PS | {"xla": False}, min_speedup=1.5,
)  # fmt: skip
def test_000_remedied_resnet152(tfperf: Measured) -> None:
    """With XLA, unlike what it is held against: without, the host cannot start the kernels of a batch of 32 as fast as
    a GPU runs them, and runs on two H200s varied by 11 %. There the all-reduce alone was 4.0 times as fast.
    """
    tfperf.check()


@pytest.mark.gate
@pytest.mark.gpu
@pytest.mark.tfperf(
    "alexnet", strategy="multi_worker_mirrored", replicas=[2, 4, 8], batch_size=256, tolerance=0.10,
    min_efficiency=0.5, versus=PS | {"feed": True}, min_speedup=2.0,
)  # fmt: skip
def test_000_remedied_alexnet(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "alexnet", strategy="mirrored", collective="compiled", replicas=[2, 4, 8], batch_size=256, xla=True,
    tolerance=0.05, min_efficiency={2: 0.85, 4: 0.80, 8: 0.75},
)  # fmt: skip
def test_000_compiled_alexnet(tfperf: Measured) -> None:
    """The whole step, its all-reduce included, as one XLA program. On two H200s it has an efficiency of 0.90."""
    tfperf.check()


# On two CPU cores two ranks share memory and caches, so the floors of efficiency are half of what was measured, on the
# processor where that was least. A floor for one environment belongs into its baseline file.
SMALL = {"batch_size": 8, "image_size": 64, "classes": 100, "width": 0.25}
SMALL_INCEPTION = {"batch_size": 2, "image_size": 75, "classes": 100, "width": 0.125}
SMALL_RESNET = {"batch_size": 4, "image_size": 32, "classes": 100, "width": 0.125, "blocks": 0.1, "xla": False}


@pytest.mark.tfperf(
    "alexnet", strategy="multi_worker_mirrored", replicas=[2], **SMALL, variant="small", tolerance=0.4,
    min_efficiency=0.12, versus=PS | SMALL | {"feed": True}, min_speedup=1.1,
)  # fmt: skip
def test_000_remedied_alexnet_small(tfperf: Measured) -> None:
    """A quarter of the width on two CPU cores; what it is held against is the reported arm."""
    tfperf.check()


@pytest.mark.tfperf(
    "inception_v3", strategy="multi_worker_mirrored", replicas=[2], **SMALL_INCEPTION, variant="small", tolerance=0.4,
    min_efficiency=0.2, versus=PS | SMALL_INCEPTION, min_speedup=1.1,
)  # fmt: skip
def test_000_remedied_inception_v3_small(tfperf: Measured) -> None:
    """All of its layers at an eighth of the width, on images as small as it takes."""
    tfperf.check()


@pytest.mark.tfperf(
    "resnet152", strategy="multi_worker_mirrored", replicas=[2], **SMALL_RESNET, variant="small", tolerance=0.4,
    min_efficiency=0.2, versus=PS | SMALL_RESNET, min_speedup=1.1,
)  # fmt: skip
def test_000_remedied_resnet152_small(tfperf: Measured) -> None:
    """A tenth of its blocks at an eighth of the width."""
    tfperf.check()
