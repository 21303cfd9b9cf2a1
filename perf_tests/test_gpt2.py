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
    steps_per_call=8,
    pack_variables=True,
    min_efficiency={1: 0.95, 2: 0.88, 4: 0.85, 8: 0.80},
    tolerance=0.03,
)
def test_gpt2_scales(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.gpu
@pytest.mark.tfperf(
    "gpt2",
    strategy="mirrored",
    collective="compiled",
    replicas=[2, 4, 8],
    batch_size=16,
    min_efficiency={2: 0.88, 4: 0.85, 8: 0.80},
    tolerance=0.03,
)
def test_gpt2_in_one_process_scales(tfperf: Measured) -> None:
    """The all-reduce inside the compiled step: on two H200s E(2) is 0.94. Side by side it trained 564 sequences/s,
    processes of eight steps a call 554, and processes of one step a call 514.
    """
    tfperf.check()
