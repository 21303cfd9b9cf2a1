"""A session as one frozen view: what was measured, what was decided, and every text about it, formatted once.

All writers read this and nothing else, so a report that is made anew from a JSON file is the one of the night itself.
The JSON file has these very fields; docs/json.md says what they mean to its readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import Metric, Verdict
from pytest_tfperf.report.view import ArmView

SCHEMA_VERSION = 1
"""Grows with every change that a reader could trip over; what is only added does not change it."""

Scalar = str | int | float | bool | None
Outcome = Literal["passed", "failed", "error", "skipped", "not run"]
"""Of a test: `error` where there is no measurement to judge, `not run` where the session ended before its turn."""


@dataclass(frozen=True)
class Figure:
    """A value with its interval; examples/s of the whole job, seconds, or a ratio."""

    value: float
    low: float | None
    """None, as `high`, where one run shows no noise."""
    high: float | None
    confidence: float
    n: int
    """Runs it was made from."""
    text: str
    """As people read it: ``17 940 +- 0.8 %``."""


@dataclass(frozen=True)
class Task:
    """What one task measured in one run."""

    task: str
    """``worker:0``."""
    host: int
    replicas: int
    examples_per_step: int
    windows: tuple[tuple[float, float, int], ...]
    """Start and end, monotonic seconds, and steps of each timed window."""
    own_step_time: float | None
    """Seconds of its own part of a step, waiting for no other."""
    warmup: tuple[float, ...]
    """Seconds of each warm-up step."""
    losses: tuple[float | None, ...]
    """At the end of each window; None where it was not finite."""
    phases: Mapping[str, float]
    """Seconds of each phase of its start."""
    facts: Mapping[str, str]

    @property
    def step_times(self) -> tuple[float, ...]:
        """Seconds a step, one value for each window."""
        return tuple((end - start) / steps for start, end, steps in self.windows)


@dataclass(frozen=True)
class MeasuredRun:
    """One run of an arm in fresh processes."""

    round: int
    throughput: float
    step_time: float
    seconds: float
    """What all of it took, start-up included."""
    attempts: int
    """Runs that were made to get this one; those before it were disturbed."""
    disturbances: tuple[str, ...]
    warnings: tuple[str, ...]
    tasks: tuple[Task, ...]
    """The tasks that train; empty for a run of another revision, which tells its speed alone."""


@dataclass(frozen=True)
class MeasuredArm:
    """All runs of one arm of a sweep."""

    label: str
    """``T(1)`` for the reference, ``T(4)``, ``T(4) ps_async`` for what T(4) is held against."""
    role: Literal["reference", "measured", "versus"]
    strategy: str
    replicas: int
    runs: tuple[MeasuredRun, ...]
    against: tuple[MeasuredRun, ...] = ()
    """The same at the other revision, in the same rounds."""
    error: str = ""
    """Why there are no more runs; empty where nothing went wrong."""
    logs: Mapping[str, str] = field(default_factory=dict)
    """The last lines that each task of the last run printed."""


@dataclass(frozen=True)
class MeasuredSweep:
    """The arms that one test compares, measured in the same rounds."""

    test: str
    """Node id without the replica count."""
    workload: str
    strategy: str
    variant: str | None
    device: Literal["cpu", "gpu"]
    definition: Mapping[str, Scalar]
    rounds: int
    seconds: float
    arms: tuple[MeasuredArm, ...]
    """The reference first."""


@dataclass(frozen=True)
class ComparedMetric:
    """One metric against its baseline."""

    metric: Metric
    label: str
    baseline: Figure
    now: Figure
    change: Figure
    """now / baseline; below 1 is worse."""
    tolerance: float
    verdict: Verdict
    excused: bool
    """True for an E(N) that decides nothing."""
    reason: str


@dataclass(frozen=True)
class JudgedFloor:
    """E(N) or S(N) against its floor."""

    label: str
    floor: float
    origin: str
    now: Figure
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """What was decided of a test's arm, and everything that was known to decide it."""

    verdict: Verdict
    view: ArmView
    """As people read it."""
    reference: Figure
    """T(1), examples/s."""
    throughput: Figure
    """T(N), examples/s of the whole job."""
    efficiency: Figure
    """E(N), a fraction of N x T(1)."""
    step_time: Figure
    """Seconds that a replica needs for a step."""
    speedup: Figure | None
    """S(N): throughput over that of what it is held against, the strategy `versus`."""
    versus: str
    metrics: tuple[ComparedMetric, ...]
    floors: tuple[JudgedFloor, ...]
    reasons: tuple[str, ...]
    baseline: BaselineEntry | None
    """The sessions it was judged against, with their runs."""
    changes: tuple[tuple[str, str | None, str | None], ...]
    """Soft keys of the environment that are not as in the baseline: key, then, now."""


@dataclass(frozen=True)
class Case:
    """One test at one replica count."""

    id: str
    """pytest's node id."""
    test: str
    """Node id without the replica count: the sweep it belongs to."""
    replicas: int
    workload: str
    strategy: str
    variant: str | None
    device: Literal["cpu", "gpu"]
    file: str
    line: int
    outcome: Outcome
    judgement: Judgement | None = None
    """None where nothing was measured."""
    text: str = ""
    """Why it failed, could not be measured, or was skipped; empty where it passed."""

    @property
    def headline(self) -> str:
        """One line for lists of failures; empty where it passed."""
        if self.outcome == "failed" and self.judgement is not None:
            return self.judgement.view.headline
        return self.text.partition("\n")[0]

    @property
    def word(self) -> str:
        """Its verdict; where there is none, its outcome."""
        return str(self.judgement.verdict) if self.judgement else self.outcome


@dataclass(frozen=True)
class Place:
    """Where was measured."""

    name: str
    """Of the baselines' folder."""
    hard: Mapping[str, str | int]
    soft: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """What a verdict depends on beside the measurements."""

    tolerance: float
    rounds: int
    """Most rounds of a gate, where a test does not say otherwise."""
    window_seconds: float
    strict: bool
    save: bool
    smoke: str
    """Why nothing was to be judged; empty in earnest."""


@dataclass(frozen=True)
class SessionReport:
    """One session of pytest, as far as it measured."""

    schema_version: int
    plugin: str
    """Version of pytest-tfperf."""
    started: str
    """UTC, ISO 8601 to the second."""
    seconds: float
    exit_status: int
    """pytest's."""
    arguments: tuple[str, ...]
    """Of pytest's command line."""
    commit: str
    dirty: bool
    against: str
    """The other revision; empty where baselines were judged against."""
    settings: Settings
    places: Mapping[str, Place]
    """By device, ``cpu`` or ``gpu``: those on which something was measured."""
    sweeps: tuple[MeasuredSweep, ...]
    cases: tuple[Case, ...]
    """In the order of the session."""
    findings: tuple[str, ...]
    """What the suspects that were tried add up to."""
    saved: tuple[str, ...]
    """Baselines that were written."""
    tally: str
    """``3 unchanged, 1 regressed``."""
    left_open: str
    """What --tfperf-strict would fail; empty where nothing, or where it is on."""

    def sweep_of(self, case: Case) -> MeasuredSweep | None:
        """The measurements that a case is judged by; None where there are none."""
        return next((sweep for sweep in self.sweeps if sweep.test == case.test), None)
