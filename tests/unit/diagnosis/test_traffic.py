"""How a link was used, told from samples."""

from __future__ import annotations

import pytest

from pytest_tfperf.diagnosis.traffic import describe_link, link_use
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.traffic import HostTraffic, LinkUse, TrafficSample

LINK = Link.parse("1gbit")
TICK = 0.005


def _use(step: list[tuple[int, float, float]], steps: int = 5) -> LinkUse:
    """Steps of phases: (samples, fraction of the rate sent, fraction of the rate received)."""
    samples = [TrafficSample(100.0, 7, 9)]
    for count, sent, received in step * steps:
        for _ in range(count):
            last, most = samples[-1], LINK.rate_bytes_per_second * TICK
            samples.append(
                TrafficSample(last.time + TICK, last.sent + round(sent * most), last.received + round(received * most))
            )
    return link_use(HostTraffic(0, "10.0.0.1", tuple(samples)), LINK, 100.0, samples[-1].time, steps)


def test_pull_then_push_saturates_a_link_that_looks_half_idle() -> None:
    use = _use([(46, 0.0, 0.95), (9, 0.0, 0.0), (45, 0.95, 0.0)])
    assert use.receiving == pytest.approx(0.46)
    assert use.sending == pytest.approx(0.45)
    assert use.both == 0
    assert use.busy == pytest.approx(0.91)
    assert use.alternation == 1
    assert use.received_utilisation == pytest.approx(0.437)
    assert use.sent_utilisation == pytest.approx(0.4275)
    assert use.received_per_step == pytest.approx(0.46 * 0.5 * 0.95 * 125e6)
    assert use.sent_per_step == pytest.approx(0.45 * 0.5 * 0.95 * 125e6)
    assert describe_link(use) == (
        "The 1gbit link is saturated in alternating bursts: pull 46 % of the step, push 45 %; its mean utilisation of "
        "44 % a direction hides that."
    )
    assert "bursts: gradients 46 % of the step, variables 45 %" in describe_link(
        use, receives="gradients", sends="variables"
    )


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ([(100, 0.9, 0.9)], "is saturated in both directions at once: pull 100 % of the step, push 100 %."),
        ([(90, 0.1, 0.95), (10, 0.0, 0.0)], "is saturated in one direction, pull: pull 90 % of the step, push 0 %."),
        ([(90, 0.95, 0.1), (10, 0.0, 0.0)], "is saturated in one direction, push: pull 0 % of the step, push 90 %."),
        (
            [(5, 0.9, 0.0), (5, 0.0, 0.9), (90, 0.0, 0.0)],
            "is not what limits the step: pull 5 % of the step, push 5 %; neither direction is busy for 90 % of it.",
        ),
        ([(100, 0.6, 0.6)], "is not what limits the step: pull 0 % of the step, push 0 %;"),
        (
            [(36, 0.0, 0.9), (36, 0.9, 0.0), (28, 0.0, 0.0)],
            "is busy for 72 % of the step, in alternating bursts: pull 36 % of the step, push 36 %; its mean "
            "utilisation of 32 % a direction hides that.",
        ),
        (
            [(20, 0.0, 0.9), (40, 0.9, 0.9), (20, 0.9, 0.0), (20, 0.0, 0.0)],
            "is busy for 80 % of the step, in bursts that partly overlap: pull 60 % of the step, push 60 %; its mean "
            "utilisation of 54 % a direction",
        ),
    ],
)
def test_words(step: list[tuple[int, float, float]], says: str) -> None:
    assert describe_link(_use(step)).startswith(f"The 1gbit link {says}")


def test_a_link_that_is_never_busy_does_not_alternate() -> None:
    assert _use([(10, 0.1, 0.1)]).alternation == 0


def test_late_samples_weigh_as_long_as_they_are() -> None:
    rate = LINK.rate_bytes_per_second
    samples = (TrafficSample(0.0, 0, 0), TrafficSample(0.1, 0, round(0.1 * rate)), TrafficSample(1.0, 0, 12_500_000))
    use = link_use(HostTraffic(0, "", samples), LINK, 0.0, 1.0, 1)
    assert use.receiving == pytest.approx(0.1)


def test_time_that_was_not_sampled() -> None:
    samples = (TrafficSample(0.0, 0, 0), TrafficSample(1.0, 0, 0))
    with pytest.raises(ValueError, match="not within"):
        link_use(HostTraffic(0, "", samples), LINK, 0.5, 2.0, 1)


def test_a_slow_line_is_not_taken_for_idle_between_two_packets() -> None:
    """At 20 Mbit/s a packet of 64 KiB takes 26 ms: readings every 10 ms see nothing, nothing, and then all of it."""
    link = Link.parse("20mbit")
    packet, seconds = 65536, 65536 / link.rate_bytes_per_second
    samples = [TrafficSample(0.01 * k, packet * int(0.01 * k / seconds), 0) for k in range(301)]
    use = link_use(HostTraffic(0, "10.0.0.1", tuple(samples)), link, 0.0, 3.0, 10)
    assert use.sent_utilisation > 0.95
    assert use.sending > 0.9
