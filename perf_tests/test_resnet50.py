"""ResNet-50 v1.5 in fp16 with fused batch norm and XLA, a process a GPU, gradients packed into one all-reduce."""

from __future__ import annotations

import pytest

from pytest_tfperf.fixtures import Measured


@pytest.mark.gpu
@pytest.mark.tfperf(
    "resnet50",
    strategy="multi_worker_mirrored",
    replicas=[1, 2, 4, 8],
    min_efficiency={1: 0.95, 2: 0.88, 4: 0.85, 8: 0.80},
    tolerance=0.03,
)
def test_resnet50_scales(tfperf: Measured) -> None:
    tfperf.check()
