"""Judges the arms of sweeps: what each is held against, and when it is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_tfperf.against.hold import Held, held_definition, held_opponent
from pytest_tfperf.baseline.schema import Limits
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.comparison.floors import Floor
from pytest_tfperf.comparison.judge import hypotheses_of, judge_arm, measured_otherwise
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import BaselineError, TfPerfError
from pytest_tfperf.plan import definition_of
from pytest_tfperf.records.arm import Device, Sweep, SweepSpec, definition_changes
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.units import plural


@dataclass(frozen=True)
class Decision:
    """What was decided of an arm, on what."""

    verdict: ArmVerdict
    held: Held
    """What it was held against."""
    result: SweepResult
    """The sweep as it was then: what was measured later, for other arms, decided nothing here."""


@dataclass(frozen=True)
class _Stored:
    """What the baseline files have of an arm."""

    baseline: BaselineEntry | None
    missing: str
    limits: Limits


class Judge:
    """Decides about each arm once, at the look at which it is settled, and remembers it."""

    def __init__(
        self,
        config: PerfConfig,
        store: BaselineStore,
        environment_of: Callable[[Device], Environment],
        cores: Sequence[int],
    ) -> None:
        self._config = config
        self._store = store
        self._environment_of = environment_of
        self._cores = cores
        self._planned: Mapping[str, Sweep] = {}
        self._hypotheses: int | None = None
        self._stored: dict[tuple[str, int], _Stored] = {}
        self._limits: dict[tuple[Device, str, int], Limits] = {}
        """By kind of device, name of the baseline and replica count: as the session first read them."""
        self._decided: dict[tuple[str, int], Decision | TfPerfError] = {}

    def plan(self, sweeps: Iterable[Sweep]) -> None:
        """Take all that the session is to judge: its chance of a false alarm is split over that."""
        self._planned = {sweep.spec.test: sweep for sweep in sweeps}
        self._hypotheses = None

    def check(self, sweep: Sweep, environment: Environment) -> None:
        """Read what a sweep is to be judged by, before minutes are spent on it.

        Raises:
            BaselineError: a file cannot be read.
        """
        for replicas in sweep.replicas:
            self._limits_of(environment, sweep.spec, replicas)

    def foreseen(self, spec: SweepSpec, replicas: int) -> tuple[Verdict, str] | None:
        """Why the arm can be held against nothing, however fast it is; None where it can be, or that is not known yet.

        `no_baseline` or `incomparable`, which is its verdict unless a floor is missed or open, and the reason.

        Raises:
            BaselineError: the file cannot be read.
        """
        if self._config.against:
            return None  # what the other revision measures is known when its side has started
        stored = self._stored_of(spec, replicas, self._environment_of(spec.device))
        if stored.baseline is None:
            return Verdict.NO_BASELINE, stored.missing
        here = definition_of(spec, self._cores)
        changes = definition_changes(stored.baseline.definition, here, spec.strategy)
        if not changes:
            return None
        return Verdict.INCOMPARABLE, measured_otherwise(changes, _remedy(stored.baseline, spec))

    def settled(self, result: SweepResult, look: Look) -> dict[int, str]:
        """Judge every count that is neither decided nor lost; give those that are decided now, each with its verdict.

        A count whose baseline cannot be read is decided too: `decision` raises why.
        """
        test, found = result.sweep.spec.test, dict[int, str]()
        for replicas in result.sweep.replicas:
            if (test, replicas) in self._decided or result.error_of(replicas) is not None:
                continue
            try:
                verdict, held = self._judged(result, replicas, look)
            except TfPerfError as error:
                self._decided[test, replicas] = error
                found[replicas] = "cannot be judged"
                continue
            if verdict.settled or look.last:
                self._decided[test, replicas] = Decision(verdict, held, result)
                found[replicas] = verdict.word
        return found

    def decision(self, test: str, replicas: int) -> Decision:
        """What was decided of a measured arm.

        Raises:
            TfPerfError: it cannot be judged, for instance as its baseline is broken.
        """
        decided = self._decided[test, replicas]
        if isinstance(decided, TfPerfError):
            raise decided
        return decided

    def tolerance(self, spec: SweepSpec, replicas: int, environment: Environment) -> float:
        """Largest relative loss of an arm that is no regression: the baseline file's, the marker's or the session's.

        Raises:
            BaselineError: the file cannot be read.
        """
        return self._tolerance(self._limits_of(environment, spec, replicas), spec, replicas)

    def _judged(self, result: SweepResult, replicas: int, look: Look) -> tuple[ArmVerdict, Held]:
        spec = result.sweep.spec
        stored = self._stored_of(spec, replicas, result.environment, opposed=result.opponent is not None)
        held = Held(stored.baseline, None, result.definition, stored.missing)
        if result.opponent is not None:
            held = held_opponent(result, replicas, held_definition(spec, self._cores))
        verdict = judge_arm(
            result.arm_of(replicas),
            result.paired(replicas),
            definition=held.definition,
            baseline=held.baseline,
            missing=held.missing,
            against=held.runs,
            held_against="the baseline" if result.opponent is None else str(result.opponent.revision),
            remedy="" if result.opponent is not None or self._config.save else _remedy(held.baseline, spec),
            floors=_floors(stored.limits, spec, replicas),
            tolerance=self._tolerance(stored.limits, spec, replicas),
            policy=self._config.comparison,
            look=look,
            hypotheses=self._hypotheses_with(result.sweep),
            versus=spec.against,
            own_reference=result.sweep.is_own_reference(replicas),
            disturbed=result.disturbances_of(replicas),
            may_be_undisturbed=result.may_be_undisturbed(replicas, look.planned),
            smoke=self._config.smoke,
        )
        return verdict, held

    def _stored_of(self, spec: SweepSpec, replicas: int, environment: Environment, *, opposed: bool = False) -> _Stored:
        """Read once: an arm is judged at several looks, all against the same. `opposed`: against another revision."""
        key = spec.test, replicas
        if key not in self._stored:
            limits = self._limits_of(environment, spec, replicas)
            baseline, missing = None, ""
            if not opposed:
                baseline = self._store.find(environment, spec.baseline_name, replicas)
                missing = "" if baseline else self._why_missing(environment, spec, replicas)
            self._stored[key] = _Stored(baseline, missing, limits)
        return self._stored[key]

    def _why_missing(self, environment: Environment, spec: SweepSpec, replicas: int) -> str:
        elsewhere = [name for name in self._store.environments(spec.baseline_name) if name != environment.name]
        text = f"no baseline of {spec.baseline_name} at {plural(replicas, 'replica')} for {environment.name}"
        if elsewhere:
            text += f" (there are some for: {', '.join(elsewhere)})"
        return text if self._config.save else f"{text}; --tfperf-save stores one"

    def _tolerance(self, limits: Limits, spec: SweepSpec, replicas: int) -> float:
        if limits.tolerance is not None:
            return limits.tolerance
        return spec.tolerance.get(replicas, self._config.comparison.tolerance)

    def _hypotheses_with(self, sweep: Sweep) -> int:
        """What the whole session judges; of a sweep that was never planned, what that one does."""
        if sweep.spec.test not in self._planned:
            return self._hypotheses_of(sweep)
        if self._hypotheses is None:
            self._hypotheses = sum(self._hypotheses_of(each) for each in self._planned.values())
        return self._hypotheses

    def _hypotheses_of(self, sweep: Sweep) -> int:
        own = sweep.is_own_reference(1)
        floors = [
            floor
            for replicas in sweep.replicas
            for floor in _floors(self._limits_if_any(sweep.spec, replicas), sweep.spec, replicas)
            if not (floor.kind == "efficiency" and sweep.is_own_reference(replicas))
        ]
        return hypotheses_of(sweep.replicas, len(floors), own_reference=own)

    def _limits_of(self, environment: Environment, spec: SweepSpec, replicas: int) -> Limits:
        """Read once: the chance of an alarm is split over the very floors that are judged later."""
        key = spec.device, spec.baseline_name, replicas
        if key not in self._limits:
            self._limits[key] = self._store.limits(environment, spec.baseline_name, replicas)
        return self._limits[key]

    def _limits_if_any(self, spec: SweepSpec, replicas: int) -> Limits:
        """Those of a broken file count as none: it is an error of the tests that need it, and of no other."""
        try:
            return self._limits_of(self._environment_of(spec.device), spec, replicas)
        except BaselineError:
            return Limits()


def _floors(limits: Limits, spec: SweepSpec, replicas: int) -> list[Floor]:
    floors = []
    if limits.floor is not None:
        floors.append(Floor("efficiency", limits.floor, "the baseline file"))
    elif replicas in spec.min_efficiency:
        floors.append(Floor("efficiency", spec.min_efficiency[replicas], "the test"))
    if replicas in spec.min_speedup:
        floors.append(Floor("speedup", spec.min_speedup[replicas], "the test"))
    return floors


def _remedy(baseline: BaselineEntry | None, spec: SweepSpec) -> str:
    """What to do about a baseline that measured something else; another test's is not replaced by saving."""
    test = baseline.provenance.sweep if baseline else ""
    if test and test != spec.test:
        return f"it is that of {test}: give one of them a name of its own with variant='...' in the marker"
    return "--tfperf-save replaces it, and variant='...' in the marker keeps both"
