"""Report 004: two GPUs are hardly faster than one as soon as the L2 regulariser is on.

Reported (2017, TensorFlow 1.3, 2 x GTX 1080, Inception-ResNet v1, 10,000 classes): 228 images/s on one GPU with and
without L2, 354 on two without it (78 %), 287 with it (63 %). Measured: towers in one graph, gradients only, with
variables where they were meant to be (CPU), where the reporter's code really put them (the first tower's GPU, as an
arg_scope on slim.variable does not reach slim.model_variable), and a copy on every GPU, each with L2 and without;
copies between devices counted in the graph. Why: L2's terms are made once, on the first tower's device, and each
tower's gradient waits for them there, beside all variables. What to do: variables on every device, and L2 from each
tower's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from pytest_tfperf.fixtures import Measured

Options = Mapping[str, str | bool]
AS_REPORTED: Options = {"variables": "reported", "regularizer": "shared", "apply": False}
AS_INTENDED: Options = {"variables": "cpu", "regularizer": "shared", "apply": False}
REMEDIED: Options = {"variables": "device", "regularizer": "per_tower", "apply": False}
L2 = 0.0001


def towers(options: Options, weight_decay: float, variant: str) -> Callable[[Measured], None]:
    @pytest.mark.gpu
    @pytest.mark.tfperf(
        "inception_resnet_v1", strategy="tower", replicas=[1, 2], reference="tower", **options,
        weight_decay=weight_decay, variant=variant, tolerance=0.15,
    )  # fmt: skip
    def test(tfperf: Measured) -> None:
        tfperf.check()

    return test


test_004_reported_without_l2 = towers(AS_REPORTED, 0.0, "reported-no-l2")
test_004_reported_with_l2 = towers(AS_REPORTED, L2, "reported-l2")
test_004_as_intended_without_l2 = towers(AS_INTENDED, 0.0, "cpu-no-l2")
test_004_as_intended_with_l2 = towers(AS_INTENDED, L2, "cpu-l2")
test_004_remedied_without_l2 = towers(REMEDIED, 0.0, "remedied-no-l2")


@pytest.mark.gpu
@pytest.mark.tfperf(
    "inception_resnet_v1", strategy="tower", replicas=[1, 2], reference="tower", **REMEDIED, weight_decay=L2,
    variant="remedied-l2", tolerance=0.10, min_efficiency={2: 0.8}, versus=AS_REPORTED, min_speedup={2: 1.05},
)  # fmt: skip
def test_004_remedied_with_l2(tfperf: Measured) -> None:
    """Towers that share nothing: what is lost is what one process needs to start the kernels of two GPUs."""
    tfperf.check()


SMALL = {"batch_size": 8, "image_size": 75, "classes": 100, "width": 0.25, "depth": 1}


@pytest.mark.tfperf(
    "inception_resnet_v1", strategy="tower", replicas=[2], reference="tower", **AS_REPORTED, **SMALL,
    variant="small-l2", tolerance=0.4, rounds=3, suspect="L2", versus={"weight_decay": L2},
)  # fmt: skip
def test_004_suspect_l2_small(tfperf: Measured) -> None:
    """As reported, without L2 against with it. A copy within one memory costs little; the output counts the copies."""
    tfperf.check()


@pytest.mark.tfperf(
    "inception_resnet_v1", strategy="tower", replicas=[2], reference="tower", **REMEDIED, **SMALL, weight_decay=L2,
    variant="small", tolerance=0.4, min_efficiency=0.18, versus=AS_REPORTED, min_speedup=0.4,
)  # fmt: skip
def test_004_remedied_small(tfperf: Measured) -> None:
    """On CPU devices of one memory a copy costs little, so what this shows of the mechanism is the copies a step."""
    tfperf.check()
    facts = tfperf.runs[-1].tasks[0].facts
    # Two losses: the towers share neither variables nor terms. As reported, each variable and term crosses.
    assert facts["copies between devices per step"] == "8 B in 2 tensors"
