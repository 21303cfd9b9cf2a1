"""Figures that are no figures are said to be none."""

from __future__ import annotations

from math import inf, nan

import pytest

from pytest_tfperf.units import format_percent, format_points


@pytest.mark.parametrize("value", [inf, -inf, nan, 1e307])
def test_what_overflows_is_not_available(value: float) -> None:
    assert format_points(value) == "n/a"
    assert format_percent(value) == "n/a"


def test_points_and_percent() -> None:
    assert format_points(-0.112) == "-11.2 pt"
    assert format_percent(0.125, signed=True) == "+12.5 %"
