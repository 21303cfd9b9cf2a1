"""The session's settings, read from options and ini values once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Launcher = Literal["auto", "zygote", "spawn"]


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
    """Warm-up ends here at the latest; the run is then marked as not steady."""


@dataclass(frozen=True)
class ComparisonPolicy:
    """When a difference is a regression."""

    tolerance: float = 0.05
    """Largest relative loss that is no regression."""
    confidence: float = 0.998
    """Two-sided confidence of the interval that must exclude zero: one false alarm in 1,000 on one side."""
    assurance: float = 0.90
    """Two-sided confidence of the interval that must lie within the tolerance for `unchanged`."""


@dataclass(frozen=True)
class PerfConfig:
    """Everything a session needs to know, whatever pytest's command line looked like."""

    root: Path
    """pytest's rootdir."""
    baselines: Path
    save: bool = False
    force_save: bool = False
    require_baseline: bool = False
    rounds: int = 5
    forced_rounds: int | None = None
    """Rounds asked for on the command line: they win over a marker's, or the rerun a failure names would do nothing."""
    timeout: float = 600.0
    """Deadline in seconds of one run: from the start of its processes to their results."""
    launcher: Launcher = "auto"
    keep_logs: bool = False
    smoke: str = ""
    """Where not empty: measure one round and judge nothing, for this reason."""
    measurement: MeasurementPolicy = field(default_factory=MeasurementPolicy)
    comparison: ComparisonPolicy = field(default_factory=ComparisonPolicy)
