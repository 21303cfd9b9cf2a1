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
    best, best_error = 0, float("inf")
    for cut in range(0, count // 2 + 2):
        rest = durations[cut:]
        if len(rest) < 2:
            break
        mean = sum(rest) / len(rest)
        error = sum((value - mean) ** 2 for value in rest) / len(rest) ** 2
        if error < best_error:
            best, best_error = cut, error
    return best


def is_steady(durations: Sequence[float], min_steps: int) -> bool:
    """True where at least half of the steps so far lie behind the transient.

    A truncation point past the middle means that the series is still coming down, so more steps are needed.
    """
    return len(durations) >= max(min_steps, 4) and truncation_point(durations) <= len(durations) // 2
