"""Rates of links as people write them, and stretches of sampled traffic."""

from __future__ import annotations

import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.traffic import HostTraffic, TrafficSample


@pytest.mark.parametrize(
    ("text", "bits", "shown"),
    [
        ("1gbit", 1e9, "1gbit"),
        ("2.5Gbit", 2.5e9, "2.5gbit"),
        (" 100 mbit/s ", 1e8, "100mbit"),
        ("1500kbit", 1.5e6, "1.5mbit"),
    ],
)
def test_rates(text: str, bits: float, shown: str) -> None:
    link = Link.parse(text)
    assert link.rate_bits_per_second == bits
    assert link.rate_bytes_per_second == bits / 8
    assert str(link) == shown
    assert Link.parse(shown) == link


@pytest.mark.parametrize("text", ["", "1", "gbit", "1gbyte", "-1gbit", "1e3mbit", "1 GB/s", "1gbit 2"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(UsageError, match="is not the rate of a link; write for instance '1gbit'"):
        Link.parse(text)


@pytest.mark.parametrize("text", ["0gbit", "999kbit", "100gbit"])
def test_rates_that_cannot_be_made(text: str) -> None:
    with pytest.raises(UsageError, match="from 1mbit to 32gbit"):
        Link.parse(text)


HOST = HostTraffic(
    0,
    "10.0.0.1",
    (
        TrafficSample(10.0, 1000, 50),
        TrafficSample(11.0, 2000, 50),
        TrafficSample(12.0, 2000, 150),
        TrafficSample(14.0, 6000, 150),
    ),
)


def test_totals_are_between_the_first_sample_and_the_last() -> None:
    assert (HOST.sent, HOST.received) == (5000, 100)


def test_a_cut_is_interpolated_at_its_ends() -> None:
    cut = HOST.cut(10.5, 13.0)
    assert [sample.time for sample in cut.samples] == [10.5, 11.0, 12.0, 13.0]
    assert (cut.sent, cut.received) == (500 + 0 + 2000, 100)
    assert HOST.cut(10.0, 14.0).samples == HOST.samples
    within = HOST.cut(12.5, 13.5)
    assert [sample.time for sample in within.samples] == [12.5, 13.5]
    assert within.sent == 2000


@pytest.mark.parametrize(("start", "end"), [(9.9, 11.0), (11.0, 14.1), (12.0, 12.0), (13.0, 12.0)])
def test_a_cut_that_was_not_sampled(start: float, end: float) -> None:
    with pytest.raises(ValueError, match="is not within the sampled"):
        HOST.cut(start, end)
