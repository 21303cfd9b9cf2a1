"""Whether a host's link is what training waits for.

A mean hides it: where a worker pulls variables, computes, and then pushes gradients, a link that is never idle shows
less than half its rate in each direction ("the network is only 40 % used", as users report). So time is judged sample
by sample, and each direction by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pytest_tfperf.records.link import Link
from pytest_tfperf.records.traffic import HostTraffic, LinkUse, TrafficSample
from pytest_tfperf.units import format_percent

BUSY = 0.7
"""A direction is busy in a sample in which it carried more than this fraction of the link's rate."""
_PACKET = 65536
"""Bytes of the largest packet, which the kernel counts as one."""
SATURATED = 0.75
"""A link is saturated where it is busy for at least this share of the time."""
NOTICEABLE = 0.25
"""Under this share a link without limits would make a step faster by less than a third."""
ALTERNATING = 0.7
"""Pull and push take turns where this much of the busy time has one direction busy only."""


def link_use(traffic: HostTraffic, link: Link, start: float, end: float, steps: int) -> LinkUse:
    """How the host used its link from `start` to `end`, in which it made `steps` steps.

    Times are seconds on the monotonic clock. Raises ValueError where sampling does not cover them.
    """
    cut = traffic.cut(start, end)
    rate = link.rate_bytes_per_second
    sending = receiving = both = 0.0
    for before, after in pairwise(_coarse(cut.samples, 2 * _PACKET / rate)):
        seconds = after.time - before.time
        sends = after.sent - before.sent > BUSY * rate * seconds
        receives = after.received - before.received > BUSY * rate * seconds
        sending += seconds * sends
        receiving += seconds * receives
        both += seconds * (sends and receives)
    seconds = end - start
    return LinkUse(
        link=link,
        seconds=seconds,
        steps=steps,
        sent_per_step=cut.sent / steps,
        received_per_step=cut.received / steps,
        sent_utilisation=cut.sent / (rate * seconds),
        received_utilisation=cut.received / (rate * seconds),
        sending=sending / seconds,
        receiving=receiving / seconds,
        both=both / seconds,
    )


def _coarse(samples: Sequence[TrafficSample], seconds: float) -> list[TrafficSample]:
    """Leave out samples that follow another within `seconds`, so that no stretch between two is shorter.

    The kernel counts a packet of up to 64 KiB at once. On a slow line that takes longer than a sample does, and a line
    that is never free would look busy only in the samples in which a packet was counted.
    """
    kept = [samples[0]]
    for sample in samples[1:-1]:
        if sample.time - kept[-1].time >= seconds and samples[-1].time - sample.time >= seconds:
            kept.append(sample)
    return [*kept, samples[-1]]


def describe_link(use: LinkUse, *, receives: str = "pull", sends: str = "push") -> str:
    """One paragraph. A worker's host receives what it pulls; for a parameter server's host turn the names round."""
    shares = (
        f"{receives} {format_percent(use.receiving, decimals=0)} of the step, "
        f"{sends} {format_percent(use.sending, decimals=0)}"
    )
    mean = max(use.sent_utilisation, use.received_utilisation)
    larger = receives if use.receiving >= use.sending else sends
    hides = f"its mean utilisation of {format_percent(mean, decimals=0)} a direction hides that"
    if use.busy < NOTICEABLE:
        return (
            f"The {use.link} link is not what limits the step: {shares}; neither direction is busy for "
            f"{format_percent(1 - use.busy, decimals=0)} of it."
        )
    if max(use.sending, use.receiving) >= SATURATED:
        if min(use.sending, use.receiving) >= SATURATED:
            return f"The {use.link} link is saturated in both directions at once: {shares}."
        return f"The {use.link} link is saturated in one direction, {larger}: {shares}."
    if use.alternation < ALTERNATING:
        how = "in bursts that partly overlap"
    elif use.busy >= SATURATED:
        return f"The {use.link} link is saturated in alternating bursts: {shares}; {hides}."
    else:
        how = "in alternating bursts"
    return (
        f"The {use.link} link is busy for {format_percent(use.busy, decimals=0)} of the step, {how}: {shares}; {hides}."
    )
