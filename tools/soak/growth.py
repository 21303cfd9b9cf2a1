"""Judges whether something grew, from its value after every cluster or session.

There are three kinds of quantities. Of a *count* (descriptors, processes, files) not one may be left: what it is at the
end, and what it never falls under any more, is compared with the same at the beginning. The *size* of a process wavers,
so its slope is judged: Theil and Sen's, the median of the slopes of all pairs, which a few odd values do not move. It
has grown where the slope's 95 % interval lies above the bound and both halves of the series rise faster than it: memory
that is taken once, in the middle, is no leak. *Time* is a ratio of the last third to the first, of each kind of cluster
on its own, with the interval that resampling gives. A busy machine slows everything, so a control, taken at the same
moments, is asked too: time has grown where it did both on the clock and beside the control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

Answer = Literal["flat", "grew", "undecided"]
CONFIDENCE = 0.95
PER = 100
"""Slopes are told per so many clusters or sessions."""
FEWEST = 12
"""Values after the warm-up from which a slope or a ratio is judged."""
_RESAMPLES = 2000


@dataclass(frozen=True)
class Growth:
    """What became of one quantity."""

    name: str
    answer: Answer
    first: float
    last: float
    text: str
    """How much it grew, with its interval and bound."""


def judge_count(name: str, values: Sequence[float]) -> Growth:
    """`values`: after every cluster, the last one once everything has come to rest."""
    first, last = values[0], values[-1]
    third = max(1, len(values) // 3)
    early, late = min(values[:third]), min(values[-third:])
    grew = max(last - first, late - early)
    answer: Answer = "flat" if grew <= 0 else "grew"
    return Growth(name, answer, first, last, f"{grew:+g}" if grew else "0")


def judge_slope(name: str, values: Sequence[float], bound: float) -> Growth:
    """`bound`: the largest growth per `PER` values that is none."""
    first, last = float(np.median(values[:5])), float(np.median(values[-5:]))
    if len(values) < FEWEST:
        return Growth(name, "undecided", first, last, f"{len(values)} values are too few for a slope")
    slope, low, high = _slope(values)
    halves = [_slope(half) for half in (values[: len(values) // 2], values[len(values) // 2 :])]
    text = f"{slope:+.3g} [{low:+.3g}, {high:+.3g}] per {PER}, bound {bound:g}"
    if high <= bound:
        return Growth(name, "flat", first, last, text)
    if min(each[2] for each in halves) <= bound:
        return Growth(name, "flat", first, last, f"{text}, and one half does not rise")
    if low > bound and min(each[0] for each in halves) > bound:
        return Growth(name, "grew", first, last, text)
    return Growth(name, "undecided", first, last, text)


def judge_time(
    name: str, seconds: Mapping[str, Sequence[float]], controls: Mapping[str, Sequence[float]], bound: float
) -> Growth:
    """Of each kind its seconds in turn, and the control's at the same moments.

    `bound`: the largest ratio that is no growth.
    """
    kinds = [kind for kind in seconds if len(seconds[kind]) >= FEWEST]
    if not kinds:
        return Growth(name, "undecided", 0.0, 0.0, "too few of any kind for a ratio")
    clock = _ratio([seconds[kind] for kind in kinds])
    relative = _ratio([[a / b for a, b in zip(seconds[kind], controls[kind])] for kind in kinds])
    if min(clock[1], relative[1]) > bound:
        answer: Answer = "grew"
    elif min(clock[2], relative[2]) <= bound:
        answer = "flat"
    else:
        answer = "undecided"
    first, last = (
        sum(float(np.median(part(seconds[kind]))) for kind in kinds) / len(kinds) for part in (_early, _late)
    )
    ratios = ", ".join(
        f"{what} x {ratio:.2f} [{low:.2f}, {high:.2f}]"
        for what, (ratio, low, high) in (("on the clock", clock), ("beside the control", relative))
    )
    return Growth(name, answer, first, last, f"{ratios}, bound x {bound:g}")


def _slope(values: Sequence[float]) -> tuple[float, float, float]:
    """Per `PER` values, with its interval."""
    found = stats.theilslopes(values, np.arange(len(values)) / PER, CONFIDENCE)
    return float(found[0]), float(found[2]), float(found[3])


def _early(values: Sequence[float]) -> Sequence[float]:
    return values[: len(values) // 3]


def _late(values: Sequence[float]) -> Sequence[float]:
    return values[-(len(values) // 3) :]


def _ratio(series: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Late medians over early ones, the geometric mean over the kinds, with the bounds that resampling gives it."""
    random = np.random.default_rng(0)
    logs = np.zeros(_RESAMPLES)
    middle = 0.0
    for values in series:
        for part, sign in ((_early(values), -1), (_late(values), 1)):
            drawn = np.median(random.choice(part, (_RESAMPLES, len(part))), axis=1)
            logs += sign * np.log(drawn)
            middle += sign * float(np.log(np.median(part)))
    low, high = np.quantile(logs / len(series), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(np.exp(middle / len(series))), float(np.exp(low)), float(np.exp(high))
