"""A measurement held against a baseline, and what was decided about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from pytest_tfperf.records.arm import Arm
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.difference import Difference
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.records.look import Look


class Verdict(Enum):
    """What is decided about a figure or an arm; only `comparison.judge` makes one."""

    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"
    NO_BASELINE = "no_baseline"
    INCOMPARABLE = "incomparable"

    def __str__(self) -> str:
        return self.value


Metric = Literal["reference", "throughput", "efficiency", "common"]
"""`common` is the geometric mean of T(1) and T(N): what both lost."""


@dataclass(frozen=True)
class Figures:
    """What the runs of an arm and of its reference say, each with its interval.

    Throughputs are examples/s of the whole job, step times seconds, the efficiency a fraction of N x T(1).
    """

    reference: Estimate
    throughput: Estimate
    efficiency: Estimate
    step_time: Estimate
    speedup: Estimate | None = None
    """S(N): throughput over that of the arm it is held against; None where there is none."""


@dataclass(frozen=True)
class Comparison:
    """One metric now against the baseline's."""

    metric: Metric
    label: str
    """``T(1)``, ``T(4)``, ``E(4)``, ``T(1) x T(4)``."""
    baseline: Estimate
    now: Estimate
    change: Estimate
    """now / baseline: below 1 is worse, for every metric. Its interval is the one that must exclude 1 for an alarm."""
    assured: Estimate
    """The same ratio with the narrower interval that `unchanged` asks for."""
    difference: Difference
    """The same on a log scale, with what of its variance comes from where."""
    sessions: int
    """Saved sessions that the runs are held against; 0 for another revision, measured in the same rounds."""
    rounds_needed: int | None = None
    """Rounds that would rule a loss out at this noise, or raise the alarm for one as large as it looks; None where none
    would, the noise is not known, or a loss is ruled out already."""
    day_confidence: float | None = None
    """Of the interval of `change` where sessions differ, which is another than that of the runs; None without such."""
    days: float = 0.0
    """What a day is taken to do, as a difference of logs, where too few sessions are saved to know; else 0. The
    interval of `change` reaches at least as far."""
    is_own: bool = True
    """False where a loss of the figure is not its own. One of T(1) or T(N) that E(N) does not show is left to `common`,
    as a day that both share changes no E(N); and one of `common` that only one of the two shows is that one's."""


@dataclass(frozen=True)
class MetricVerdict:
    """The decision about one metric."""

    comparison: Comparison
    verdict: Verdict
    tolerance: float
    reason: str = ""
    excused: bool = False
    """True for an E(N) that decides nothing: it fell only as T(1) got faster, or T(1) and T(N) settle it without it."""


@dataclass(frozen=True)
class FloorVerdict:
    """E(N) or S(N) against its floor: `unchanged` where it is met for sure, `regressed` where it is missed for sure."""

    label: str
    """``E(4)`` or ``S(4)``."""
    now: Estimate
    floor: float
    origin: str
    """Where the floor was set: the test or the baseline file."""
    verdict: Verdict
    open: bool = False
    """True where it is undecided, and further rounds may decide it."""


@dataclass(frozen=True)
class ArmVerdict:
    """Everything decided about one arm."""

    arm: Arm
    verdict: Verdict
    figures: Figures
    metrics: tuple[MetricVerdict, ...]
    floors: tuple[FloorVerdict, ...]
    reasons: tuple[str, ...]
    """Why, in words, most important first."""
    baseline: BaselineEntry | None
    versus: str = ""
    """Strategy that S(N) is the ratio to."""
    look: Look | None = None
    """When it was decided; None where nothing was judged."""
    settled: bool = True
    """False where further rounds may still change the verdict."""
    tolerance: float | None = None
    """That of its figures, a fraction, whether or not there was a baseline to hold them against."""

    @property
    def under_floor(self) -> bool:
        """True where E(N) or S(N) misses its floor for sure."""
        return any(floor.verdict is Verdict.REGRESSED for floor in self.floors)

    @property
    def word(self) -> str:
        """The verdict, in words that tell a floor that is missed from a loss against the baseline."""
        lost = any(metric.verdict is Verdict.REGRESSED and not metric.excused for metric in self.metrics)
        return "under its floor" if self.under_floor and not lost else str(self.verdict)
