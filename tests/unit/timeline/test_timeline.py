"""What a GPU's time in a step was made of, from a record of its kernels."""

from __future__ import annotations

import pytest

from benchmarks.timeline import Event, timeline

STEP = (("gradients", 0.0, 7.0), ("update", 7.5, 8.0))


def test_time_is_compute_all_reduce_that_nothing_hides_and_idle() -> None:
    found = timeline(
        [
            Event("conv", 0.0, 4.0),
            Event("ncclDevKernel_AllReduce", 3.0, 6.0),  # two of its three seconds are seen
            Event("update", 8.0, 9.0),
            Event("other stream", 8.5, 8.7),
        ]
    )
    assert (found.span, found.compute, found.exposed, found.idle) == pytest.approx((9.0, 5.0, 2.0, 2.0))
    assert found.launches == 4
    assert found.gaps == {("ncclDevKernel_AllReduce", "update"): (2.0, 1)}
    assert found.kernels == pytest.approx(
        {"conv": 4.0, "ncclDevKernel_AllReduce": 3.0, "update": 1.0, "other stream": 0.2}
    )


def test_a_long_kernel_is_busy_whatever_ended_in_it() -> None:
    """The gap begins at the last end so far, not at that of the kernel that started last."""
    found = timeline([Event("long", 0.0, 10.0), Event("short", 1.0, 2.0), Event("next", 11.0, 12.0)])
    assert found.idle == pytest.approx(1.0)
    assert found.gaps == {("long", "next"): (1.0, 1)}


def test_gaps_between_the_same_neighbours_are_summed_whatever_order_the_events_came_in() -> None:
    steps = [Event(name, 10.0 * step + start, 10.0 * step + end) for step in range(3) for name, start, end in STEP]
    found = timeline(reversed(steps))
    assert found.gaps == {("gradients", "update"): (1.5, 3), ("update", "gradients"): (4.0, 2)}
    assert found.idle == pytest.approx(5.5)
    assert timeline([]).span == 0.0
