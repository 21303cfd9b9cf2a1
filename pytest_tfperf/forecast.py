"""How long a session will take, said before it begins: what runs took before, times the rounds that are expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from pytest_tfperf.comparison.outlook import rounds_to_decide
from pytest_tfperf.config import MeasurementPolicy, PerfConfig
from pytest_tfperf.durations import History, Stored, kind_of, known_of, updated, window_of
from pytest_tfperf.measurement.clock import Clock
from pytest_tfperf.pacing import FEWEST, FEWEST_TO_SAVE, planned_rounds
from pytest_tfperf.plan import layout_of
from pytest_tfperf.records.arm import Arm, Sweep, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.units import format_seconds, plural

_BESIDE_RUNS = 8.0
"""Seconds that a session takes besides its runs where none was seen: importing TensorFlow, above all."""


@dataclass(frozen=True)
class Forecast:
    """Seconds that a session should take."""

    sweeps: int
    expected: float
    most: float
    """If every planned round is needed, and none is disturbed."""
    unknown: int = 0
    """Sweeps that hold an arm of which nothing is known."""

    def __str__(self) -> str:
        text = f"{plural(self.sweeps, 'sweep')}, about {in_steps(self.expected)}"
        if self.most > 1.05 * self.expected:
            text += f" (at most {in_steps(self.most)})"
        if self.unknown:
            never = "was never timed" if self.unknown == 1 else "were never timed"
            text += f"; a rough guess, as {plural(self.unknown, 'sweep')} {never}"
        return text


def in_steps(seconds: float) -> str:
    """A duration in steps of five seconds from half a minute on: more would claim too much."""
    whole = max(1, round(seconds)) if seconds < 30 else 5 * round(seconds / 5)
    return f"{whole} s" if whole < 120 else format_seconds(whole)


def forecast(
    sweeps: Iterable[Sweep], config: PerfConfig, history: History, stored: Callable[[SweepSpec, int], Stored]
) -> Forecast:
    """Say how long the sweeps will take, from the moment of asking.

    A run takes what it took in the last session here; else what it took when the baseline was saved; else what one that
    is alike took; else, as a guess, what one of the workload under another strategy took; else a guess of nothing. The
    rounds are as many as last time, else as many as a gate on unchanged code is expected to need, else all. A first run
    takes no longer than a later one where XLA finds the programs of an earlier session.
    """
    count, unknown = 0, 0
    expected = most = fewest = _beside_runs(history, config)
    for sweep in sweeps:
        count += 1
        planned = planned_rounds(config, sweep.spec)
        at_least = min(planned, FEWEST_TO_SAVE if config.save else FEWEST)
        known = {replicas: stored(sweep.spec, replicas) for replicas in sweep.replicas}
        rounds = {replicas: _rounds(sweep, replicas, planned, config, known[replicas]) for replicas in sweep.replicas}
        before = known_of(history, sweep.spec)
        last = before.get("rounds", {}).get(kind_of(config, planned), {})
        guessed = False
        for arm in dict.fromkeys(sweep.arms):
            needed_by = [replicas for replicas in sweep.replicas if arm in sweep.arms_of(replicas)]
            runs = last.get(arm.label) or max(rounds[replicas] for replicas in needed_by)
            times = _before(before, arm, config) or _saved(sweep, arm, known, config.measurement)
            guessed |= times is None
            first, later = times or _of_kin(sweep, arm, known, config.measurement) or _guess(sweep.spec, arm, config)
            if config.kept_programs and sweep.spec.recipe_of(arm).workload_params.get("xla"):
                first = min(first, later)  # else it would count as new what XLA has kept since
            if config.against and arm.role != "versus":  # the other revision takes its turns
                first, later = 2 * first, 2 * later
            expected += first + (runs - 1) * later
            most += first + (planned - 1) * later
            fewest += first + (at_least - 1) * later
        unknown += guessed
    if config.max_time is not None:
        cap = max(config.max_time, fewest)  # the fewest rounds are measured in any case
        expected, most = min(expected, cap), min(most, cap)
    return Forecast(count, expected, max(most, expected), unknown)


def _beside_runs(history: History, config: PerfConfig) -> float:
    """What such a session took besides its runs here; else what other kinds did, but for the one with two of pytest."""
    seen: Mapping[str, float] = history.get("", {})
    own = kind_of(config, 0)
    others = [seconds for kind, seconds in seen.items() if "against" not in (kind, own)]
    return float(seen.get(own, median(others) if others else _BESIDE_RUNS))


class Duration:
    """How long a session takes, and was expected to; its text says both, and is empty before `begin`."""

    def __init__(self, config: PerfConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._began: tuple[float, Forecast] | None = None

    def begin(self, sweeps: Iterable[Sweep], history: History, stored: Callable[[SweepSpec, int], Stored]) -> Forecast:
        """Count from now on, and give what is expected."""
        expected = forecast(sweeps, self._config, history, stored)
        self._began = self._clock.now(), expected
        return expected

    def added_to(self, history: History, results: Mapping[str, SweepResult]) -> dict[str, Any]:
        """The history with this session's; the same where nothing was begun, or nothing measured."""
        if self._began is None or not results:
            return dict(history)
        return updated(history, results, self._config, self._clock.now() - self._began[0])

    def __str__(self) -> str:
        if self._began is None:
            return ""
        began, announced = self._began
        return f"took {in_steps(self._clock.now() - began)}, expected {in_steps(announced.expected)}"


def _rounds(sweep: Sweep, replicas: int, planned: int, config: PerfConfig, known: Stored) -> int:
    """Rounds that a count is expected to need, where it was not measured here before."""
    if config.save or config.against or config.smoke or sweep.spec.suspect or known.entry is None:
        return planned
    own = sweep.is_own_reference(replicas)
    return rounds_to_decide(known.entry, known.tolerance, planned, config.comparison, own_reference=own)


def _before(before: Mapping[str, Any], arm: Arm, config: PerfConfig) -> tuple[float, float] | None:
    seconds = before.get("runs", {}).get(arm.label)
    if seconds is None or seconds[2] != window_of(config):
        return None
    return float(seconds[0]), float(seconds[1])


def _saved(
    sweep: Sweep, arm: Arm, known: Mapping[int, Stored], policy: MeasurementPolicy
) -> tuple[float, float] | None:
    """What a run took when a baseline of it was saved here, or else of what is alike; the median of several.

    Nothing is saved of what an arm is only held against: it is taken for as slow as that arm.
    """
    asked = [stored for replicas, stored in known.items() if arm in sweep.arms_of(replicas)]
    each = ([stored.entry] if stored.entry else stored.alike for stored in asked)
    return next(filter(None, (_median_run(entries, arm, policy) for entries in each)), None)


def _of_kin(
    sweep: Sweep, arm: Arm, known: Mapping[int, Stored], policy: MeasurementPolicy
) -> tuple[float, float] | None:
    """What a run of the workload took under the nearest strategy that a baseline was saved of, the arm's own first.

    `benchmarks/first_guess.py` shows how far off that is, and a guess of nothing.
    """
    spec = sweep.spec
    groups = [kin for replicas, stored in known.items() if arm in sweep.arms_of(replicas) for kin in stored.kin]
    if arm.is_reference:
        groups = [
            _those(kin, lambda entry: entry.definition.get("reference") == spec.reference.strategy) for kin in groups
        ]
    else:
        own = spec.recipe_of(arm).strategy
        groups = [
            *(_those(kin, lambda entry: entry.strategy == own) for kin in groups),
            *(_those(kin, lambda entry: entry.strategy != own) for kin in groups),
        ]
    return next(filter(None, (_median_run(kin, arm, policy) for kin in groups)), None)


def _those(entries: Iterable[BaselineEntry], wanted: Callable[[BaselineEntry], bool]) -> tuple[BaselineEntry, ...]:
    return tuple(filter(wanted, entries))


def _median_run(entries: Iterable[BaselineEntry], arm: Arm, policy: MeasurementPolicy) -> tuple[float, float] | None:
    """The medians of what a first and a later run took by these; None where none of them says."""
    times = [_run_of(entry.latest, arm, policy) for entry in entries]
    seen = [seconds for seconds in times if seconds is not None]
    return (median(first for first, _ in seen), median(later for _, later in seen)) if seen else None


def _run_of(session: BaselineSession, arm: Arm, policy: MeasurementPolicy) -> tuple[float, float] | None:
    """Seconds of a first and of a later run as that session's, with windows as long as now; None where it does not say.

    Of a session that does not tell them apart, both are the mean.
    """
    if session.run_seconds is None:
        return None
    which = 0 if arm.is_reference else 1
    later = session.run_seconds[which]
    first = later if session.first_run_seconds is None else session.first_run_seconds[which]
    step = median(session.reference_step_time if arm.is_reference else session.step_time)

    def timed(window: float) -> float:
        """Of the windows and the warm-up, which takes about one; a window has one step at least."""
        return (policy.windows + 1) * step * max(1, round(window / step))

    now = timed(policy.window_seconds)
    before = now if session.window_seconds is None else timed(session.window_seconds)
    return max(now, first - before + now), max(now, later - before + now)


def _guess(spec: SweepSpec, arm: Arm, config: PerfConfig) -> tuple[float, float]:
    """Seconds of the first run and of a later one, of an arm that nothing is known of: within a factor of two or so.

    Fitted to the stored baselines of two processors and of a machine with two GPUs.
    """
    layout = layout_of(spec, arm)
    tasks = layout.workers + layout.ps + layout.chief
    policy = config.measurement
    # CUDA's libraries are loaded by every process, at once; graphs are built and placed by each task.
    starts = 8.0 + tasks if spec.device == "gpu" else 0.5 * tasks
    seconds = starts + (policy.windows + 1) * policy.window_seconds  # warm-up takes about one
    compiles = 40.0 if spec.recipe_of(arm).workload_params.get("xla") else 0.0
    again = compiles / 8 if config.compile_cache else compiles
    return seconds + compiles, seconds + again
