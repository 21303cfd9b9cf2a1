"""What a baseline file holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from pytest_tfperf.baseline.codec import Data, Key
from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.baseline import BaselineEntry

# History of the format:
# 1: workload, strategy, variant, definition, environment, units and, per replica count, the hand-set limits,
#    provenance, soft environment and the values of every round.
# 2: several sessions per replica count, keyed by their date, each with provenance, soft environment and runs.
# 3: a session may say what a run took (run_seconds).
# 4: a session may say how long its timed windows were (window_seconds).
# 5: a session may say what its first run took (first_run_seconds); run_seconds is then of the later ones.
# 6: a session that was saved by force says why that was refused (forced, in saved).
SCHEMA_VERSION = 6

UNITS: Data = {"throughput": "examples/s", "step_time": "s", "efficiency": 1}
SERIES = ("reference_throughput", "reference_step_time", "throughput", "step_time")
TOP_KEYS = ("schema_version", "workload", "strategy", "variant", "definition", "environment", "units", "replicas")
ENTRY_KEYS = ("efficiency_floor", "tolerance", "sessions", "derived")
SESSION_KEYS = ("saved", "soft", "runs")
SAVED_KEYS = ("commit", "dirty", "test")
FORCED = "forced"
"""Key of what was saved, that need not be there."""
FIRST_RUN_SECONDS, RUN_SECONDS, WINDOW_SECONDS = "first_run_seconds", "run_seconds", "window_seconds"
OPTIONAL_KEYS = (FIRST_RUN_SECONDS, RUN_SECONDS, WINDOW_SECONDS)
"""Keys that a session need not have."""

SMALLEST, LARGEST = 1e-12, 1e12
"""Bounds of a believable value, in examples/s and in seconds alike."""


@dataclass(frozen=True)
class Limits:
    """What a person wrote into the file; both None where nobody did."""

    floor: float | None = None
    """Floor of E(N) as a fraction."""
    tolerance: float | None = None
    """Largest relative loss that is no regression, as a fraction."""


@dataclass(frozen=True)
class BaselineFile:
    """A file's content, checked."""

    workload: str
    strategy: str
    variant: str | None
    definition: Mapping[str, Scalar]
    hard: Mapping[str, str | int]
    limits: Mapping[int, Limits]
    entries: Mapping[int, BaselineEntry]
    """The replica counts that have runs."""

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.workload, self.strategy, self.variant) if part)


_SESSION_KEY = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)(?:-([2-9]|[1-9]\d{1,5}))?", re.ASCII)


def session_key(date: str, taken: Iterable[Key] = ()) -> str:
    """Key of a new session; one that is not its second's first gets a number: ``2026-11-27T22:36:48Z-2``.

    Raises:
        ValueError: the date is none, or one of the keys is no session's.
    """
    session_order(date)
    numbers = [number for day, number in map(session_order, taken) if day == date]
    return f"{date}-{max(numbers) + 1}" if numbers else date


@lru_cache(maxsize=1024)  # a file's replica counts were saved at the same times
def session_order(key: Key) -> tuple[str, int]:
    """Date and number of a session's key, to sort by; raises ValueError for what is none."""
    match = _SESSION_KEY.fullmatch(str(key))
    if match is None:
        raise ValueError(f"{key!r} is no session's key")
    datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%SZ")  # no 31st of February
    return match[1], int(match[2] or 1)
