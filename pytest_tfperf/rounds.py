"""Measures a sweep: round after round, every arm that is still needed, until everything is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from pytest_tfperf.errors import TfPerfError
from pytest_tfperf.measurement.clock import Clock, MonotonicClock
from pytest_tfperf.pacing import Pace
from pytest_tfperf.plan import cores_per_rank
from pytest_tfperf.records.arm import Arm, Sweep, SweepSpec
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.runs import Progress
from pytest_tfperf.units import format_number, plural
from pytest_tfperf.workloads.base import WorkloadDefinition

Settled = Callable[[SweepResult, Look], Mapping[int, str]]
"""Asked at every look: replica counts that no further round is needed for, each with what was decided, in a word."""


class RunMaker(Protocol):
    """What makes the runs; `runs.RunMeasurer`."""

    def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        """One run of an arm in fresh processes. Raises TfPerfError where it could not be measured."""
        ...


class Side(Protocol):
    """Another revision of the same tests, measured in the same rounds; it never measures while this side does."""

    @property
    def name(self) -> str: ...

    def measures(self, arm: Arm) -> bool:
        """Whether an arm is to be measured there too."""
        ...

    def run(self, spec: SweepSpec, arm: Arm, number: int) -> Run:
        """One run of an arm in fresh processes. Raises TfPerfError where it could not be measured."""
        ...


class SweepMeasurer:
    """Measures sweeps, one run at a time."""

    def __init__(
        self, runs: RunMaker, progress: Progress, cores: Sequence[int] = (), clock: Clock | None = None
    ) -> None:
        """`cores`: usable CPU cores by number; empty where nobody can be pinned."""
        self._runs = runs
        self._progress = progress
        self._cores = cores
        self._clock = clock or MonotonicClock()

    def measure(
        self,
        sweep: Sweep,
        workload: WorkloadDefinition,
        environment: Environment,
        gpus: Sequence[str],
        pace: Pace,
        settled: Settled,
        other: Side | None = None,
        *,
        unfinished: Callable[[SweepResult], None] = lambda _: None,
    ) -> SweepResult:
        """Measure round after round, until each replica count is settled or lost, or `pace` allows no more.

        Arms are interleaved so that a drift of the machine hits them alike, and every other round goes through
        them backwards so that being first is nobody's lot. A count needs its arm, its reference and what it is held
        against; an arm that no open count needs is measured no further. An arm that cannot be measured keeps its
        error, and the counts that need it are lost; the others go on. With another side both measure an arm one right
        after the other, each first in every other round; an arm that one of them cannot measure is lost for both.

        Where something ends it half way, Ctrl-C above all, `unfinished` is given what there is by then: its rounds are
        the whole ones, an arm may have a run more.
        """
        spec, started = sweep.spec, self._clock.now()
        state = _State(sweep, environment, cores_per_rank(spec, self._cores), other)
        beside = f", each beside {other.name}" if other is not None else ""
        most = "" if pace.planned <= pace.fewest or not pace.stops_early else "at most "
        self._progress.line(
            f"{spec.test}: {plural(len(sweep.arms), 'arm')}, {most}{plural(pace.planned, 'round')}{beside}"
        )
        whole = 0
        try:
            for number in range(1, pace.planned + 1):
                self._round(state, number, workload, gpus, other)
                whole, elapsed = number, self._clock.now() - started
                self._report_round(state, number, pace.planned)
                more = pace.may_go_on(number, elapsed, state.seconds_of_a_round)
                look = pace.look(number, more=more)
                if look is not None and state.open:
                    result = state.result(number, elapsed)
                    decided = settled(result, look)
                    state.settled.update(decided)
                    self._report_look(state, result, decided, look)
                if not more or not state.open:
                    break
        except BaseException:
            if any(state.runs.values()):
                unfinished(state.result(whole, self._clock.now() - started))
            raise
        return state.result(whole, self._clock.now() - started)

    def _round(
        self, state: _State, number: int, workload: WorkloadDefinition, gpus: Sequence[str], other: Side | None
    ) -> None:
        spec, needed = state.sweep.spec, state.needed
        for arm in state.sweep.arms if number % 2 else reversed(state.sweep.arms):
            if arm not in needed:
                continue
            started = self._clock.now()
            try:
                for is_other in _turns(number, both=arm in state.against):
                    if is_other and other is not None:
                        self._progress.status(f"{spec.test}: round {number}, {arm.label} at {other.name}")
                        state.against[arm].append(other.run(spec, arm, number))
                    else:
                        state.add(self._runs.run(spec, arm, workload, number, gpus))
            except TfPerfError as error:
                state.errors[arm] = error
                needed = state.needed
            state.seconds[arm] = self._clock.now() - started

    def _report_round(self, state: _State, number: int, planned: int) -> None:
        parts = []
        for arm, measured in state.runs.items():
            if arm in state.errors:
                parts.append(f"{arm.label} failed")
            elif measured and measured[-1].round == number:
                there = f" (there {format_number(state.against[arm][-1].throughput)})" if state.against.get(arm) else ""
                parts.append(f"{arm.label} {format_number(measured[-1].throughput)} examples/s{there}")
        self._progress.line(f"  round {number}/{planned}: {', '.join(parts)}")

    def _report_look(self, state: _State, result: SweepResult, decided: Mapping[int, str], look: Look) -> None:
        """Say why a sweep ends before its last planned round, or goes on without some of its arms."""
        rounds = f"{look.round} of {plural(look.planned, 'round')}"
        if look.final:
            self._progress.line(f"  no time for more than {rounds}")
        elif decided and not look.last:
            what = ", ".join(f"{state.sweep.arm_of(count).label} {text}" for count, text in sorted(decided.items()))
            more = "; the others go on" if state.open else ""
            given_up = set(decided.values()) == {str(Verdict.INCONCLUSIVE)}
            disturbed = any(result.disturbances_of(count) for count in decided)
            why = "runs that count were disturbed" if disturbed else "the rest would hardly decide"
            how = f"as {why}, given up" if given_up else "decided"
            self._progress.line(f"  {how} after {rounds}: {what}{more}")


class _State:
    """A sweep under way."""

    def __init__(self, sweep: Sweep, environment: Environment, cores: int | None, other: Side | None) -> None:
        self.sweep = sweep
        self.runs: dict[Arm, list[Run]] = {arm: [] for arm in sweep.arms}
        self.against: dict[Arm, list[Run]] = {
            arm: [] for arm in sweep.arms if other is not None and other.measures(arm)
        }
        self.errors: dict[Arm, Exception] = {}
        self.seconds: dict[Arm, float] = {}
        """What each arm took in its last round, at both revisions."""
        self.settled: dict[int, str] = {}
        self._environment = environment
        self._cores = cores

    @property
    def open(self) -> list[int]:
        """Replica counts that are neither settled nor lost."""
        return [
            count
            for count in self.sweep.replicas
            if count not in self.settled and not any(arm in self.errors for arm in self.sweep.arms_of(count))
        ]

    @property
    def needed(self) -> set[Arm]:
        return {arm for count in self.open for arm in self.sweep.arms_of(count)}

    @property
    def seconds_of_a_round(self) -> float:
        """What another round would take: as long as the last one of every arm that is still needed."""
        return sum(self.seconds.get(arm, 0.0) for arm in self.needed)

    def add(self, run: Run) -> None:
        """Add a run of this side; of an arm's logs only the newest stay, as a night's worth of all would be a lot."""
        runs = self.runs[run.arm]
        if runs and runs[-1].logs:
            runs[-1] = replace(runs[-1], logs={})
        runs.append(run)

    def result(self, rounds: int, seconds: float) -> SweepResult:
        return SweepResult(
            self.sweep,
            {arm: ArmResult(arm, tuple(self.runs[arm]), self.errors.get(arm)) for arm in self.sweep.arms},
            _with_versions(self._environment, [run for each in self.runs.values() for run in each]),
            rounds,
            seconds,
            self._cores,
            {arm: ArmResult(arm, tuple(measured), self.errors.get(arm)) for arm, measured in self.against.items()},
        )


def _turns(number: int, *, both: bool) -> tuple[bool, ...]:
    """Who measures an arm in a round, in order, True being the other side: each is first in every other round."""
    return (False,) if not both else (False, True) if number % 2 else (True, False)


def _with_versions(environment: Environment, runs: Sequence[Run]) -> Environment:
    """Add what only the tasks see: the versions in use, and those TensorFlow was built for."""
    versions = {key: value for run in runs for task in run.tasks for key, value in task.versions.items()}
    return replace(environment, soft={**environment.soft, **versions})
