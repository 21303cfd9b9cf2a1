"""A session as one frozen view: what was measured, what was decided, and every text about it, formatted once.

All writers read this and nothing else, so a report that is made anew from a JSON file is the one of the night itself.
The JSON file has these very fields; docs/json.md says what they mean to its readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import Metric, Verdict
from pytest_tfperf.records.environment import Change
from pytest_tfperf.report.measured import MeasuredSweep
from pytest_tfperf.report.view import ArmView

SCHEMA_VERSION = 1
"""Grows with every change that a reader could trip over; what is only added does not change it."""

Outcome = Literal["passed", "failed", "error", "skipped", "not run"]
"""Of a test: `error` where there is no measurement to judge, `not run` where the session ended before its turn."""


@dataclass(frozen=True)
class Figure:
    """A value with its interval; examples/s of the whole job, seconds, or a ratio."""

    value: float
    """Geometric mean over the runs."""
    low: float | None
    """Lower end of the interval; None where one run shows no noise."""
    high: float | None
    """Upper end, as `low`."""
    confidence: float
    """Of the interval, a fraction: 0.95 for what was measured, for a change what an alarm asks for; 1 with no
    interval."""
    n: int
    """Runs it was made from."""
    text: str
    """As people read it: ``17 940 +- 0.8 %``."""


@dataclass(frozen=True)
class ComparedMetric:
    """One metric against its baseline."""

    metric: Metric
    """`reference` is T(1), `throughput` T(N), `efficiency` E(N)."""
    label: str
    """``T(1)``, ``T(4)``, ``E(4)``."""
    baseline: Figure
    """What is stored, or was measured of the other revision."""
    now: Figure
    """What was measured."""
    change: Figure
    """now / baseline; below 1 is worse."""
    tolerance: float
    """Largest relative loss that is no regression, a fraction."""
    verdict: Verdict
    """Of this figure alone."""
    excused: bool
    """True for an E(N) that decides nothing."""
    reason: str
    """Why, in words, where that is not plain; empty otherwise."""


@dataclass(frozen=True)
class JudgedFloor:
    """E(N) or S(N) against its floor."""

    label: str
    """``E(4)`` or ``S(4)``."""
    floor: float
    """The least that it may be, a ratio."""
    origin: str
    """Where the floor was set: the test or the baseline's file."""
    now: Figure
    """What was measured."""
    verdict: Verdict
    """`unchanged` where it is met for sure, `regressed` where it is missed for sure, else `inconclusive`."""


@dataclass(frozen=True)
class Judgement:
    """What was decided of a test's arm, and everything that was known to decide it."""

    verdict: Verdict
    """Of the arm: the worst of its figures' and floors'."""
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
    """Strategy that S(N) is the ratio to; empty without one."""
    metrics: tuple[ComparedMetric, ...]
    """T(1), T(N) and E(N) against the baseline; empty where there is none to compare with."""
    floors: tuple[JudgedFloor, ...]
    """E(N) and S(N) against their floors, where there are such."""
    reasons: tuple[str, ...]
    """Why, in words, the most important first."""
    baseline: BaselineEntry | None
    """The sessions it was judged against, with their runs."""
    changes: tuple[Change, ...]
    """Soft keys of the environment that are not as in the baseline: key, then, now."""
    tolerance: float | None = None
    """Largest relative loss of its figures that is no regression. null in older reports."""
    left_out: tuple[int, ...] = ()
    """Rounds that count for nothing here, as something from outside disturbed one of their runs."""


@dataclass(frozen=True)
class Case:
    """One test at one replica count."""

    id: str
    """pytest's node id."""
    test: str
    """Node id without the replica count: the sweep it belongs to."""
    replicas: int
    """N of T(N)."""
    workload: str
    """Name of the workload."""
    strategy: str
    """Name of the strategy."""
    variant: str | None
    """Name that the test gives its baseline; null without one."""
    device: Literal["cpu", "gpu"]
    """What its replicas run on."""
    file: str
    """Relative to pytest's rootdir."""
    line: int
    """Of the test's definition, from 1."""
    outcome: Outcome
    """What became of the test; it passes with any verdict but `regressed`, unless an option is stricter."""
    judgement: Judgement | None = None
    """None where nothing was measured."""
    text: str = ""
    """Why it failed, could not be measured, or was skipped; empty where it passed."""

    @property
    def headline(self) -> str:
        """One line for lists of failures; empty where it passed."""
        if self.judgement is not None and self.text.startswith(self.judgement.view.title):
            return self.judgement.view.headline
        return self.reason

    @property
    def reason(self) -> str:
        """The first line of the text that says something: of a traceback the error, which pytest marks with an E."""
        lines = self.text.splitlines()
        errors = (line[1:].strip() for line in lines if line.startswith("E "))
        return next(filter(None, errors), lines[0] if lines else "")

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
    """What chooses the baseline: device model and count, cores, interconnect."""
    soft: Mapping[str, str]
    """Versions and settings that are told where they changed."""


@dataclass(frozen=True)
class Settings:
    """What a verdict depends on beside the measurements."""

    tolerance: float
    """Largest relative loss that is no regression, a fraction, where a test does not say otherwise."""
    rounds: int
    """Most rounds of a gate, where a test does not say otherwise."""
    window_seconds: float
    """Length of each timed window."""
    strict: bool
    """Whether what is not decided fails a test."""
    save: bool
    """Whether baselines were to be written."""
    smoke: str
    """Why nothing was to be judged; empty in earnest."""
    rerun_options: str = ""
    """Options of the command line, but for rounds, that a rerun needs to measure and judge as this session did."""


@dataclass(frozen=True)
class SessionReport:
    """One session of pytest, as far as it measured."""

    schema_version: int
    """Of this layout; 1 is the first."""
    plugin: str
    """Version of pytest-tfperf."""
    started: str
    """UTC, ISO 8601 to the second."""
    seconds: float
    """What the session took, pytest's start to its end."""
    exit_status: int
    """pytest's."""
    arguments: tuple[str, ...]
    """Of pytest's command line; secrets, and users and passwords in URLs, are ***."""
    commit: str
    """Git commit of the checkout that was measured; empty outside a repository."""
    dirty: bool
    """Whether it had uncommitted changes."""
    against: str
    """The other revision; empty where baselines were judged against."""
    settings: Settings
    """What verdicts depended on."""
    places: Mapping[str, Place]
    """By device, ``cpu`` or ``gpu``: those on which something was measured."""
    sweeps: tuple[MeasuredSweep, ...]
    """What was measured, one for each test function; of one that was interrupted, as far as it came."""
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

    def changes(self) -> dict[Change, list[Case]]:
        """What changed in the environment since the baselines, with the cases that saw it: what most saw first."""
        found: dict[Change, list[Case]] = {}
        for case in self.cases:
            for change in case.judgement.changes if case.judgement else ():
                found.setdefault(change, []).append(case)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def sweep_of(self, case: Case) -> MeasuredSweep | None:
        """The measurements that a case is judged by; None where there are none."""
        return self._by_test.get(case.test)

    @cached_property
    def _by_test(self) -> Mapping[str, MeasuredSweep]:
        return {sweep.test: sweep for sweep in self.sweeps}
