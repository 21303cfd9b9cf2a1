"""Has the step time settled? The detector behind every warm-up."""

from __future__ import annotations

from collections.abc import Sequence


def truncation_point(durations: Sequence[float]) -> int:
    """Number of leading values that belong to the transient, by the marginal standard error rule.

    MSER takes the cut that minimises the squared standard error of the mean of what is left: dropping a slow
    first step pays, dropping good values does not. K. P. White, "An effective truncation heuristic for bias
    reduction in simulation output", Simulation 69 (1997). As there, the cut is sought in the first half plus
    one, for at the very end a few values that happen to be alike look perfect.
    """
    count = len(durations)
    if count < 2:
        return 0
    # Sums over what is left, kept from the end, so that a warm-up of thousands of steps is quick to judge. They are
    # taken about the last value, since differences of large squares would lose the digits that matter.
    origin = durations[-1]
    total = squares = 0.0
    best, best_error = 0, float("inf")
    for cut in range(count - 1, -1, -1):
        value = durations[cut] - origin
        total, squares, left = total + value, squares + value * value, count - cut
        if left >= 2 and cut <= count // 2 + 1:
            error = max(0.0, squares - total * total / left) / left**2
            if error <= best_error:
                best, best_error = cut, error
    return best


def is_steady(durations: Sequence[float], min_steps: int) -> bool:
    """True where at least half of the steps so far lie behind the transient.

    A truncation point past the middle means that the series is still coming down, so more steps are needed.
    """
    return len(durations) >= max(min_steps, 4) and truncation_point(durations) <= len(durations) // 2
