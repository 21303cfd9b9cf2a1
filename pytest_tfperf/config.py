"""The session's settings, read from options and ini values once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Launcher = Literal["auto", "zygote", "spawn"]


MOST_SECONDS = 1_000_000
"""Twelve days. Longer ones are slips, and what the system waits with takes at most 24 days."""


@dataclass(frozen=True)
class MeasurementPolicy:
    """How one run measures; all durations in seconds."""

    window_seconds: float = 0.4
    """Shortest timed window: as many steps as fit, at least one."""
    windows: int = 5
    """Timed windows of a run."""
    warmup_min_steps: int = 6
    """Steps before the detector is asked at all; the first one traces and compiles."""
    warmup_max_seconds: float = 60.0
    """Warm-up lasts so long at most, from the end of all tasks' first step; the run is then marked as not steady."""
    max_repeats: int = 2
    """Times that a disturbed run is made again before it is kept as it is."""


@dataclass(frozen=True)
class ComparisonPolicy:
    """When a difference is a regression."""

    tolerance: float = 0.03
    """Largest relative loss that is no regression."""
    alarm: float = 0.00085
    """Nominal chance that a session of identical code has any false alarm, whatever the number of arms and looks. Less
    than what is promised, 1 in 1,000: so far out, quantiles of trimmed means of few runs are somewhat optimistic."""
    day: float = 0.004
    """Nominal chance that what differs between saved sessions, and not in the code, raises such an alarm. It is larger,
    as two or three sessions say little of how sessions differ; what is promised for three, 1 in 200, was simulated."""
    miss: float = 0.10
    """Chance that a figure which lost as much as its tolerance is called unchanged, over all looks."""


@dataclass(frozen=True)
class Outputs:
    """Where a session's report goes beside the terminal; None or empty: not there."""

    json: Path | None = None
    markdown: Path | None = None
    html: Path | None = None
    tensorboard: Path | None = None
    """Folder of event files; each session gets a folder of its own in it."""
    history: str = ""
    """URL of a database as SQLAlchemy has it, for instance ``sqlite:///perf.db``."""
    job_summary: Path | None = None
    """File of GitHub Actions that Markdown is appended to."""
    annotate: bool = False
    """Tell GitHub Actions of each failure, at its test's line."""

    def __bool__(self) -> bool:
        return any((self.json, self.markdown, self.html, self.tensorboard, self.history, self.job_summary))


@dataclass(frozen=True)
class PerfConfig:
    """Everything a session needs to know, whatever pytest's command line looked like."""

    root: Path
    """pytest's rootdir."""
    baselines: Path
    baselines_named: bool = False
    """The command line names the folder."""
    save: bool = False
    force_save: bool = False
    keep_sessions: int = 5
    """Saving sessions that a baseline holds, at least 1; the oldest beyond them go."""
    require_baseline: bool = False
    strict: bool = False
    """Fail also what is not decided: `inconclusive`, `no_baseline` and `incomparable`."""
    rounds: int = 5
    """Most rounds of a gate whose marker and command line say nothing."""
    rerun_options: str = ""
    """Options of the command line, but for rounds, that a rerun needs to measure and judge as this session does."""
    forced_rounds: int | None = None
    """Rounds asked for on the command line: they win over a marker's, or the rerun a failure names would do nothing."""
    max_time: float | None = None
    """Seconds that the whole session should take at most; None: as long as it takes."""
    timeout: float = 600.0
    """Deadline in seconds of one run: from the start of its processes to their results."""
    wait: float = 600.0
    """Seconds to wait at most for another session that measures on the same cores or GPUs."""
    launcher: Launcher = "auto"
    compile_cache: bool = True
    """Runs of the session use again what XLA has compiled and tuned in it before."""
    kept_programs: bool = False
    """XLA was told, by its own flag, to keep programs in a folder of the user's, and there are some."""
    keep_logs: bool = False
    against: str = ""
    """Where not empty: the git revision that is measured in the same rounds, and that this checkout is held against."""
    against_python: str = ""
    """Interpreter of that revision; empty: this one."""
    serve: int | None = None
    """Descriptor of a socket: measure only what a session asks for there that holds itself against this one."""
    smoke: str = ""
    """Where not empty: measure one round and judge nothing, for this reason."""
    outputs: Outputs = field(default_factory=Outputs)
    measurement: MeasurementPolicy = field(default_factory=MeasurementPolicy)
    comparison: ComparisonPolicy = field(default_factory=ComparisonPolicy)
