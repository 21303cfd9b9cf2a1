"""Numbers for programs that plot them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.units import plain_decimal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (17940.4321, "17940.4"),
        (0.00001234567, "0.0000123457"),
        (-0.125, "-0.125"),
        (1234567890.0, "1234570000"),
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (math.inf, ""),
        (math.nan, ""),
    ],
)
def test_no_exponent_no_unit(value: float, text: str) -> None:
    assert plain_decimal(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30))
def test_any_number_is_read_back(value: float) -> None:
    text = plain_decimal(value)
    assert re.fullmatch(r"-?\d+(\.\d+)?", text)
    assert float(text) == pytest.approx(value, rel=1e-5, abs=0)
