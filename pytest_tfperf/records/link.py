"""The network line that each host of a cluster has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_tfperf.errors import UsageError

_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]bit)(?:/s)?", re.IGNORECASE)

SLOWEST, FASTEST = 1e6, 32e9
"""Bits per second: below, one packet of 64 KiB takes half a second; above, `tbf` counts in 32 bits no more."""


@dataclass(frozen=True)
class Link:
    """A full-duplex line between a host and the switch that joins the hosts: this fast in each direction."""

    rate_bits_per_second: float

    def __post_init__(self) -> None:
        if not SLOWEST <= self.rate_bits_per_second <= FASTEST:
            raise UsageError(
                f"A link of {self.rate_bits_per_second:g} bits/s cannot be made; it can have from "
                f"{_text(SLOWEST)} to {_text(FASTEST)}."
            )

    @classmethod
    def parse(cls, text: str) -> Link:
        """Read ``1gbit``, ``2.5gbit`` or ``100mbit`` (powers of ten, as `tc` has them); raises UsageError else."""
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"{text!r} is not the rate of a link; write for instance '1gbit' or '100mbit'.")
        return cls(float(found[1]) * _UNITS[found[2].lower()])

    @property
    def rate_bytes_per_second(self) -> float:
        return self.rate_bits_per_second / 8

    def __str__(self) -> str:
        return _text(self.rate_bits_per_second)


def _text(bits: float) -> str:
    for name in ("gbit", "mbit"):
        if bits >= _UNITS[name]:
            return f"{bits / _UNITS[name]:g}{name}"
    return f"{bits / _UNITS['kbit']:g}kbit"
