"""Whether a verdict fails its test, under the session's settings."""

from __future__ import annotations

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.records.comparison import ArmVerdict, Verdict

_NOT_DECIDED = (Verdict.INCONCLUSIVE, Verdict.NO_BASELINE, Verdict.INCOMPARABLE)


def fails(verdict: ArmVerdict, config: PerfConfig) -> bool:
    """Whether the test fails."""
    return _fails_anyway(verdict, config) or (config.strict and bool(left_open(verdict, config)))


def left_open(verdict: ArmVerdict, config: PerfConfig) -> str:
    """What is not decided, and would fail under --tfperf-strict a test that passes without it; empty where nothing is.

    Nothing is asked of a smoke run, of a test that the other revision does not have, nor of what is saved, as the first
    baseline has none before it; but a floor is asked for there too.
    """
    if config.smoke or _is_new(verdict, config) or _fails_anyway(verdict, config):
        return ""
    if config.save:
        unsure = any(floor.verdict is not Verdict.UNCHANGED for floor in verdict.floors)
        return "floor not surely met" if unsure else ""
    return str(verdict.verdict) if verdict.verdict in _NOT_DECIDED else ""


def _fails_anyway(verdict: ArmVerdict, config: PerfConfig) -> bool:
    # A test that the other revision does not have hides nothing: nothing can be asked of it. Nor is a baseline asked
    # of a smoke run, which judges nothing, or of what is saved.
    is_new = bool(config.against) and verdict.baseline is None
    if config.require_baseline and not (verdict.metrics or is_new or config.smoke or config.save):
        return True
    if config.save:
        # What is about to be part of the baseline is not held against it; a floor still counts.
        return verdict.under_floor
    return verdict.verdict is Verdict.REGRESSED


def _is_new(verdict: ArmVerdict, config: PerfConfig) -> bool:
    return bool(config.against) and verdict.verdict is Verdict.NO_BASELINE
