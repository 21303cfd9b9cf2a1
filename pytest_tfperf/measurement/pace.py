"""How fast each task is by itself: what tells a slow one where all wait for it and so show the same step time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from pytest_tfperf.measurement.clock import Clock
from pytest_tfperf.measurement.loop import Agree
from pytest_tfperf.records.run import Window

STEPS = 3
"""Steps at least, of which the median counts, so that one that was held up does not."""
SECONDS = 0.1
"""Time at least: quick steps need more of them for a figure good to a few percent."""


def measure_pace(alone: Callable[[], None], clock: Clock, agree: Agree) -> float:
    """Seconds that `alone` takes, which does the task's own part of a step and waits for its device.

    All tasks run it in the same stretch, since they share the machine's memory and power in training too, and equally
    often, for a model may hold communication of its own, as batch normalisation over all replicas does. `agree` gives
    what every task has called it with at the same point.
    """
    alone()  # once untimed, as it may have to be traced
    steps = max(STEPS, *(round(need) for need in agree("own pace begins", SECONDS / max(_timed(alone, clock), 1e-6))))
    seconds = [_timed(alone, clock) for _ in range(steps)]
    # Nobody leaves before all are ready: a rank's end can take the others' cluster away.
    agree("own pace measured", 0.0)
    return median(seconds)


def _timed(work: Callable[[], None], clock: Clock) -> float:
    start = clock.now()
    work()
    return clock.now() - start


def pace_of_windows(windows: Sequence[Window]) -> float | None:
    """Seconds a step over the timed windows; None without any step."""
    steps = sum(window.steps for window in windows)
    return sum(window.seconds for window in windows) / steps if steps else None
