"""GPT-2 small on sequences of 1,024 tokens in bfloat16: products that fill a GPU, and 498 MB of gradients a step."""

from __future__ import annotations

import pytest

from pytest_tfperf.fixtures import Measured


@pytest.mark.gate
@pytest.mark.gpu
@pytest.mark.tfperf(
    "gpt2",
    strategy="multi_worker_mirrored",
    replicas=[1, 2, 4, 8],
    batch_size=16,
    min_efficiency={1: 0.95, 2: 0.85, 4: 0.82, 8: 0.78},
    tolerance=0.03,
)
def test_gpt2_scales(tfperf: Measured) -> None:
    tfperf.check()
