"""A small convolutional network: the quickest look at whether anything at all got slower, on any machine.

It is compute-bound even on one CPU core, so it also shows what a strategy itself costs a rank.
"""

from __future__ import annotations

import pytest

from pytest_tfperf.fixtures import Measured


@pytest.mark.tfperf("smallconv", strategy="single", tolerance=0.3)
def test_smallconv_alone(tfperf: Measured) -> None:
    tfperf.check()


@pytest.mark.tfperf("smallconv", strategy="multi_worker_mirrored", replicas=[2], tolerance=0.4)
def test_smallconv_scales(tfperf: Measured) -> None:
    tfperf.check()
