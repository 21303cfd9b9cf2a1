"""Where the level of a series changed: PELT proposes, tests of the neighbouring segments dispose.

**Proposed** by PELT (R. Killick, P. Fearnhead, I. A. Eckley, JASA 107, 2012), as ruptures has it (C. Truong, L. Oudre,
N. Vayatis, Signal Processing 167, 2020): the segmentation with the least sum of squares about the segments' means, plus
a penalty for each change. The penalty is Schwarz's for a change of the mean (Y.-C. Yao, Statistics & Probability
Letters 6, 1988): 2 s^2 log n, for the two parameters, a place and a level, that a change adds. s^2 is the noise of one
night, from the median absolute difference of neighbouring nights: a step is in one of these alone, and a creep adds
little to each.

**Kept** if all of this holds, else the weakest change is dropped and its neighbours become one segment, until all that
are left hold: (1) Student's t-test tells the two segments apart, at the error allowed for the series divided by the
number of places where the change could have been (Bonferroni), as the place was chosen for the sake of the difference;
(2) so does the Mann-Whitney U test, at `RANK_ERROR`: so far out, the t-test takes a normal distribution for granted,
and a few odd nights would do for it, while ranks do not care how odd they are; (3) the level moved by `MIN_CHANGE` at
least.

The error is held over all series that are looked at by dividing it by their number, Bonferroni again. How often all of
this is wrong was simulated: `python -m benchmarks.change_points`, docs/history.md.

NumPy, ruptures and SciPy are imported where they are used.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import fmean, median

MIN_NIGHTS = 10
"""Fewer say too little of the noise from night to night."""
MIN_SEGMENT = 3
"""Nights at a level before it counts as one: one or two odd nights are no new level."""
MIN_CHANGE = 0.005
"""Smallest change, as a difference of logs, that is worth anybody's time."""
RANK_ERROR = 0.01
"""Of the test of ranks, which cannot reach the other's: three nights against nine that all differ give 0.009."""
ERROR = 0.01
"""Chance of any false change point in one look at all series."""

_RESOLUTION = 1e-4
"""Smallest noise that is believed, as a fraction: values that happen to be the same have none."""
_MAD_TO_SD = 1.4826
"""Of the normal distribution."""


@dataclass(frozen=True)
class Level:
    """A stretch of nights at one level: from `start` up to, not including, `end`; `mean` in logs."""

    start: int
    end: int
    mean: float


@dataclass(frozen=True)
class ChangePoint:
    """A change of level between two nights."""

    before: Level
    after: Level
    p: float
    """Of the t-test, times the number of places where it could have been; 1 where the ranks do not bear it out."""

    @property
    def index(self) -> int:
        """The first night at the new level."""
        return self.after.start

    @property
    def log_change(self) -> float:
        return self.after.mean - self.before.mean


def find_change_points(logs: Sequence[float], series: int) -> tuple[ChangePoint, ...]:
    """Change points of one of so many series that are looked at; none in fewer than `MIN_NIGHTS` nights."""
    if len(logs) < MIN_NIGHTS:
        return ()
    allowed = ERROR / max(series, 1)
    cuts = _proposed(logs)
    while cuts:
        tested = [_tested(logs, *around) for around in zip([0, *cuts], cuts, [*cuts[1:], len(logs)])]
        weakest = max(tested, key=lambda found: (abs(found.log_change) < MIN_CHANGE, found.p))
        if weakest.p <= allowed and abs(weakest.log_change) >= MIN_CHANGE:
            return tuple(tested)
        cuts.remove(weakest.index)
    return ()


def noise_of(logs: Sequence[float]) -> float:
    """Standard deviation from night to night, whatever the level does: from the differences of neighbours."""
    steps = [after - before for before, after in itertools.pairwise(logs)]
    middle = median(steps)
    return max(_MAD_TO_SD * median(abs(step - middle) for step in steps) / sqrt(2), _RESOLUTION)


def _proposed(logs: Sequence[float]) -> list[int]:
    """First night of each segment but the first."""
    import numpy as np
    from ruptures import KernelCPD

    scaled = (np.asarray(logs, dtype=float) - fmean(logs)) / noise_of(logs)
    # With the linear kernel this is PELT on sums of squares, in C: a thousand arms have three thousand series.
    found = KernelCPD(kernel="linear", min_size=MIN_SEGMENT).fit(scaled.reshape(-1, 1)).predict(pen=2 * log(len(logs)))
    return [int(end) for end in found[:-1]]


def _tested(logs: Sequence[float], start: int, cut: int, end: int) -> ChangePoint:
    from scipy.stats import mannwhitneyu, ttest_ind_from_stats

    one, other = logs[start:cut], logs[cut:end]
    means = fmean(one), fmean(other)
    spreads = [
        max(sqrt(sum((value - mean) ** 2 for value in part) / (len(part) - 1)), _RESOLUTION)
        for part, mean in zip((one, other), means)
    ]
    p = float(ttest_ind_from_stats(means[0], spreads[0], len(one), means[1], spreads[1], len(other)).pvalue)
    p = min(1.0, p * (end - start - 2 * MIN_SEGMENT + 1))
    if p <= ERROR and mannwhitneyu(one, other).pvalue > RANK_ERROR:
        p = 1.0
    return ChangePoint(Level(start, cut, means[0]), Level(cut, end, means[1]), p)
