"""Measurements become part of baselines: what that makes outdated, and which tolerance the noise supports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean

from pytest_tfperf.baseline.entry import entry_of
from pytest_tfperf.baseline.merge import Outdated
from pytest_tfperf.baseline.store import BaselineStore, SavedFile
from pytest_tfperf.comparison.tolerance import Support, supported_tolerance
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import BaselineError
from pytest_tfperf.pacing import gate_rounds
from pytest_tfperf.records.arm import SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry, Provenance
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.refusals import Refusal, of_another_test, slowed, under_floor, unfit
from pytest_tfperf.units import format_percent, plural


@dataclass(frozen=True)
class Saved:
    """One arm's sessions as they are in its baseline now."""

    name: str
    file: SavedFile
    asked: float
    """Tolerance that the arm has, a fraction."""
    rounds: int
    """Rounds of a gate against it, at most."""
    support: Support | None
    """What tolerance the sessions' noise supports; None where they do not show it."""
    forced: str = ""
    """Why it was refused, where it was saved by force."""
    seems_slower: str = ""
    """What looks slower than in the sessions that it joins, beyond the tolerance though not beyond the noise."""

    def __str__(self) -> str:
        text = f"{self.name}: {self.file}" + (f", by force, although {self.forced}" if self.forced else "")
        if self.seems_slower:
            text += f"; {self.seems_slower} than in its earlier sessions, which is not decided"
        return text

    @property
    def is_doubtful(self) -> bool:
        """True where the tolerance asked for is finer than the noise supports."""
        if self.support is None:
            return False
        needed = self.support.rounds_needed
        return needed is None or needed > self.rounds

    @property
    def noise(self) -> str:
        """What the noise supports, in words; empty where it is not known."""
        if self.support is None:
            return ""
        seen = f"run to run {format_percent(self.support.run_noise)}"
        if self.support.session_noise is not None:
            seen += f", between {self.support.sessions} sessions {format_percent(self.support.session_noise)}"
        seen = f"measured noise ({seen})"
        rounds, asked = plural(self.rounds, "round"), format_percent(self.asked)
        tolerance = "no tolerance"
        if self.support.tolerance is not None:
            tolerance = f"a tolerance of {format_percent(self.support.tolerance)}"
        text = f"{seen} supports {tolerance} within {rounds}"
        if not self.is_doubtful:
            return f"{text}; asked: {asked}"
        return f"{text}, not the {asked} asked for, so gates will often be inconclusive; {self._remedy()}"

    def _remedy(self) -> str:
        assert self.support is not None
        if self.support.rounds_needed is not None:
            return f"about {plural(self.support.rounds_needed, 'round')} would do"
        if self.support.sessions_differ:
            more = "save one more, as two say little of how they differ, or " if self.support.sessions == 2 else ""
            return (
                f"no number of rounds would do, as the sessions differ too much among themselves: {more}widen the "
                "tolerance"
            )
        return "no number of rounds would do against so few saved runs: save more sessions, or widen the tolerance"


class Saver:
    """Adds sessions to baselines, and remembers what it wrote."""

    def __init__(
        self, config: PerfConfig, store: BaselineStore, tolerance: Callable[[SweepSpec, int, Environment], float]
    ) -> None:
        """`tolerance` gives that of an arm."""
        self.saved: list[Saved] = []
        self._config = config
        self._store = store
        self._tolerance = tolerance

    def save(self, result: SweepResult, verdict: ArmVerdict, provenance: Provenance, *, passed: bool) -> None:
        """Add an arm's runs to its baseline; raises BaselineError where they are not fit for it or cannot be written.

        `passed`: the outcome of its test.
        """
        config, name, replicas = self._config, provenance.test, verdict.arm.replicas
        asked = self._tolerance(result.sweep.spec, replicas, result.environment)
        # Of any replica count: another definition in the file removes them all.
        stored = self._store.entries(result.environment, result.sweep.spec.baseline_name)
        refusals = [
            slowed(result.sweep.spec, replicas),
            None if passed else Refusal("its test failed"),
            under_floor(verdict),
            of_another_test(stored, result),
            Refusal(f"not measured in full: {config.smoke}") if config.smoke else unfit(result, replicas, asked),
        ]
        given = [refusal for refusal in refusals if refusal is not None]
        if given and not (config.force_save and not config.smoke):
            raise BaselineError(f"not saved: {given[0]}")  # pytest names the test, and cuts what comes late in a line
        # Whoever is held against it later is told.
        provenance = replace(provenance, forced="; ".join(each.reason for each in given if each.doubtful))
        entry = new_entry(result, replicas, provenance, config.measurement.window_seconds)
        (file,) = self._store.save([entry], keep=config.keep_sessions, outdated=outdated_by(verdict))
        saved = self._saved(name, file, result, replicas, asked)
        self.saved.append(replace(saved, forced=provenance.forced, seems_slower=seems_slower(verdict)))

    def _saved(self, name: str, file: SavedFile, result: SweepResult, replicas: int, asked: float) -> Saved:
        spec = result.sweep.spec
        rounds = gate_rounds(self._config, spec)
        entry = self._store.find(result.environment, spec.baseline_name, replicas)
        if entry is None:  # somebody took the file away in the meantime
            return Saved(name, file, asked, rounds, None)
        support = supported_tolerance(
            entry,
            asked=asked,
            rounds=rounds,
            policy=self._config.comparison,
            own_reference=result.sweep.is_own_reference(replicas),
        )
        return Saved(name, file, asked, rounds, support)


def new_entry(
    result: SweepResult, replicas: int, provenance: Provenance, window_seconds: float | None = None
) -> BaselineEntry:
    """Make the entry whose only session is this measurement of an arm, with timed windows of that length."""
    arms = (result.sweep.spec.reference_arm, result.arm_of(replicas))
    # What a run took by itself: how often one will have to be made again is not the baseline's to say.
    seconds = [[run.seconds / run.attempts for run in result.results[arm].runs] for arm in arms]
    return entry_of(
        result.sweep.spec,
        replicas,
        result.paired(replicas),
        provenance,
        definition=result.definition,
        hard=result.environment.hard,
        soft=result.environment.soft,
        run_seconds=_known(*(fmean(each[1:] or each) for each in seconds)),
        window_seconds=window_seconds,
        first_run_seconds=_known(*(each[0] for each in seconds)),
    )


def _known(reference: float, own: float) -> tuple[float, float] | None:
    """What a run of the reference took, and one of the arm; None where it is not known."""
    return (reference, own) if reference > 0 and own > 0 else None


def seems_slower(verdict: ArmVerdict) -> str:
    """Figures that look lower than in the stored sessions by more than the tolerance, undecided: such a session joins
    those, and draws their mean down.
    """
    if outdated_by(verdict) is not None:
        return ""  # it replaces them
    lower = [
        f"{metric.comparison.label} is {format_percent(1 - metric.comparison.change.value)}"
        for metric in verdict.metrics
        if metric.verdict is Verdict.INCONCLUSIVE
        and not metric.excused
        and metric.comparison.metric != "common"
        and metric.comparison.change.value < 1 - metric.tolerance
    ]
    return f"{' and '.join(lower)} lower" if lower else ""


def outdated_by(verdict: ArmVerdict) -> Outdated | None:
    """Stored sessions that the arm was found to differ from, and in which figures; None where it does not.

    Its new sessions are another speed, whether better or worse: an average of both would describe neither.
    """
    differing = [
        f"{metric.comparison.label} {metric.verdict} by {format_percent(abs(metric.comparison.change.value - 1))}"
        for metric in verdict.metrics
        if metric.verdict in (Verdict.IMPROVED, Verdict.REGRESSED) and not metric.excused
    ]
    if verdict.baseline is None or not differing:
        return None
    return Outdated(verdict.baseline.sessions, ", ".join(differing))
