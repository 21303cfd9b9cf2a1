"""Confidences near 1 keep the digits that tell them apart."""

from __future__ import annotations

import pytest

from pytest_tfperf.units import format_confidence


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.95, "95 %"),
        (0.9, "90 %"),
        (0.998, "99.8 %"),
        (1 - 2 * 1.63e-4, "99.967 %"),
        (1 - 2e-7, "99.99998 %"),
        (1.0, "100 %"),
    ],
)
def test_confidence(fraction: float, text: str) -> None:
    assert format_confidence(fraction) == text
