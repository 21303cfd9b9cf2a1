"""Bytes that crossed the hosts' links, as counted over time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tfperf.records.link import Link


@dataclass(frozen=True)
class TrafficSample:
    """One reading of a host's counters."""

    time: float
    """Seconds on the machine's monotonic clock, as those of a `Window`."""
    sent: int
    """Bytes since the cluster's start that the host has sent to other hosts, headers included."""
    received: int
    """Bytes since the cluster's start that have come to the host from other hosts."""


@dataclass(frozen=True)
class HostTraffic:
    """What crossed one host's link; what its tasks say to each other does not."""

    host: int
    address: str
    samples: tuple[TrafficSample, ...]
    """In the order of time, the first from the start of sampling and the last from its end."""

    @property
    def sent(self) -> int:
        """Bytes sent between the first and the last sample."""
        return self.samples[-1].sent - self.samples[0].sent

    @property
    def received(self) -> int:
        """Bytes received between the first and the last sample."""
        return self.samples[-1].received - self.samples[0].received

    def cut(self, start: float, end: float) -> HostTraffic:
        """The stretch from `start` to `end`; raises ValueError where sampling does not cover it.

        Its ends are interpolated between samples, so that windows that follow each other add up to the whole.
        """
        times = [sample.time for sample in self.samples]
        if not times[0] <= start < end <= times[-1]:
            raise ValueError(f"[{start}, {end}] is not within the sampled [{times[0]}, {times[-1]}]")
        inside = self.samples[bisect_right(times, start) : bisect_left(times, end)]
        return HostTraffic(self.host, self.address, (self._at(start, times), *inside, self._at(end, times)))

    def _at(self, time: float, times: list[float]) -> TrafficSample:
        index = bisect_left(times, time)
        after = self.samples[index]
        if after.time == time:
            return after
        before = self.samples[index - 1]
        part = (time - before.time) / (after.time - before.time)
        return TrafficSample(
            time,
            before.sent + round(part * (after.sent - before.sent)),
            before.received + round(part * (after.received - before.received)),
        )


@dataclass(frozen=True)
class Traffic:
    """What crossed every host's link."""

    link: Link
    hosts: Mapping[int, HostTraffic]
    """By the number that placements name the host by."""


@dataclass(frozen=True)
class LinkUse:
    """How one host used its link over a stretch of time; shares are fractions of that time."""

    link: Link
    seconds: float
    steps: int
    sent_per_step: float
    """Bytes."""
    received_per_step: float
    """Bytes."""
    sent_utilisation: float
    """Mean rate as a fraction of the link's."""
    received_utilisation: float
    sending: float
    """Share of time in which the sending direction is busy: a sample has more than 70 % of the link's rate."""
    receiving: float
    """Share of time in which the receiving direction is busy."""
    both: float
    """Share of time in which both are busy at once."""

    @property
    def busy(self) -> float:
        """Share of time in which at least one direction is busy."""
        return self.sending + self.receiving - self.both

    @property
    def alternation(self) -> float:
        """Fraction of the busy time in which only one direction is busy; 0 where none is ever busy."""
        return 1 - self.both / self.busy if self.busy > 0 else 0.0
