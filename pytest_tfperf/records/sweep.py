"""What a session measured of a sweep."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_tfperf.records.against import Opponent
from pytest_tfperf.records.arm import Arm, Scalar, Sweep
from pytest_tfperf.records.counting import Disturbed, counting, may_count
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import ArmResult, Run

CORES_PER_RANK = "cores_per_rank"
"""Key of a definition: the CPU cores that each replica is pinned to."""


@dataclass(frozen=True)
class PairedRuns:
    """Runs of an arm and of its reference, one per round in which both measured."""

    reference: tuple[float, ...]
    reference_step_time: tuple[float, ...]
    throughput: tuple[float, ...]
    step_time: tuple[float, ...]
    versus: tuple[float, ...] = ()
    """Throughput of what the arm is held against, where there is such an arm."""


@dataclass(frozen=True)
class _Rounds:
    """The rounds of the arms that a verdict needs."""

    whole: list[int]
    """Those in which every one was measured."""
    disturbed: Disturbed
    counting: list[int]
    """Of the whole ones."""


@dataclass(frozen=True)
class SweepResult:
    """All runs of a sweep, and where they were made."""

    sweep: Sweep
    results: Mapping[Arm, ArmResult]
    environment: Environment
    rounds: int
    """Rounds measured; an arm that was decided sooner has fewer runs."""
    seconds: float
    cores_per_rank: int | None = None
    """CPU cores that each replica was pinned to; None on GPUs."""
    against: Mapping[Arm, ArmResult] = field(default_factory=dict)
    """The same arms at another revision, measured in the same rounds; empty where there is none."""
    opponent: Opponent | None = None
    """That revision, and what it has of this test."""

    @property
    def definition(self) -> dict[str, Scalar]:
        """What was measured, with the share of the machine that each replica had."""
        share = {} if self.cores_per_rank is None else {CORES_PER_RANK: self.cores_per_rank}
        return {**self.sweep.spec.definition, **share}

    def arm_of(self, replicas: int) -> Arm:
        return self.sweep.arm_of(replicas)

    def error_of(self, replicas: int) -> Exception | None:
        """The fault that leaves the arm, its reference or what it is held against without a result."""
        errors = (self.results[arm].error for arm in self.sweep.arms_of(replicas))
        return next((error for error in errors if error is not None), None)

    def paired(self, replicas: int) -> PairedRuns:
        """Runs of the rounds that count, see `counting`, at both revisions where two are."""
        return _paired(self._counting(replicas), *(self.results[arm].runs for arm in self.sweep.arms_of(replicas)))

    def paired_against(self, replicas: int) -> PairedRuns | None:
        """The other revision's runs in the very rounds of `paired`; None where it did not measure the arm."""
        there = self._arms_against(replicas)
        return _paired(self._counting(replicas), *(self.against[arm].runs for arm in there)) if there else None

    def throughputs_of(self, replicas: int) -> dict[str, dict[int, float]]:
        """Examples/s by round, of `paired`'s rounds, for each arm that the count's verdict is made of, by its name."""
        rounds = self._counting(replicas)
        found: dict[str, dict[int, float]] = {}
        for where, run in self._runs_of(replicas):
            if run.round in rounds:
                found.setdefault(where, {})[run.round] = run.throughput
        return found

    def _rounds(self, replicas: int) -> _Rounds:
        if replicas not in self._known_rounds:
            self._known_rounds[replicas] = _rounds_of(self._sides(replicas))
        return self._known_rounds[replicas]

    @cached_property
    def _known_rounds(self) -> dict[int, _Rounds]:
        """By replica count: all that is told of an arm asks for them."""
        return {}

    def _sides(self, replicas: int) -> list[tuple[Run, ...]]:
        """The runs of each arm that the count needs, at both revisions where two are."""
        own = [self.results[arm].runs for arm in self.sweep.arms_of(replicas)]
        return own + [self.against[arm].runs for arm in self._arms_against(replicas)]

    def _counting(self, replicas: int) -> list[int]:
        return self._rounds(replicas).counting

    def may_be_undisturbed(self, replicas: int, planned: int) -> bool:
        """Whether rounds up to the last planned one may leave enough that nothing disturbed."""
        rounds = self._rounds(replicas)
        return may_count(rounds.whole, rounds.disturbed, planned)

    def rounds_left_out(self, replicas: int) -> tuple[int, ...]:
        """The whole rounds that do not count, as something disturbed them."""
        rounds = self._rounds(replicas)
        return tuple(sorted(set(rounds.whole).difference(rounds.counting)))

    def counting_runs(self, arm: Arm, replicas: int) -> tuple[Run, ...]:
        """The arm's runs of the rounds that count for `replicas`."""
        rounds = self._counting(replicas)
        return tuple(run for run in self.results[arm].runs if run.round in rounds)

    def warnings_of(self, replicas: int) -> tuple[str, ...]:
        """What was odd about the runs, each once, in the order in which it was seen."""
        odd = (f"{where}, {warning}" for where, run in self._runs_of(replicas) for warning in run.warnings)
        return tuple(dict.fromkeys(odd))

    def disturbances_of(self, replicas: int) -> tuple[str, ...]:
        """What disturbed the runs that count, each once: of the arm, its reference and what it is held against."""
        return self._disturbances(replicas, self._counting(replicas))

    def left_out_of(self, replicas: int) -> tuple[str, ...]:
        """What disturbed the runs of whole rounds that do not count, each once."""
        return self._disturbances(replicas, self.rounds_left_out(replicas))

    def _disturbances(self, replicas: int, rounds: Collection[int]) -> tuple[str, ...]:
        if self._rounds(replicas).disturbed.none:
            return ()
        return tuple(
            dict.fromkeys(
                f"{where}, round {run.round}: {disturbance}"
                for where, run in self._runs_of(replicas)
                if run.round in rounds
                for disturbance in run.disturbances
            )
        )

    def repeats_of(self, replicas: int) -> tuple[str, ...]:
        """Why runs of these arms were made again: a line for each run that was left out."""
        return tuple(
            f"{where}, round {run.round}, attempt {number}: {'; '.join(disturbances)}"
            for where, run in self._runs_of(replicas)
            for number, disturbances in enumerate(run.discarded, start=1)
        )

    def _runs_of(self, replicas: int) -> list[tuple[str, Run]]:
        """Every run that the count's verdict is made of, at both revisions if there are two, and which it is."""
        if replicas not in self._known_runs:
            self._known_runs[replicas] = self._named_runs(replicas)
        return self._known_runs[replicas]

    @cached_property
    def _known_runs(self) -> dict[int, list[tuple[str, Run]]]:
        return {}

    def _named_runs(self, replicas: int) -> list[tuple[str, Run]]:
        own = [run for arm in dict.fromkeys(self.sweep.arms_of(replicas)) for run in self.results[arm].runs]
        found = [(run.arm.label, run) for run in own]
        there = [run for arm in dict.fromkeys(self._arms_against(replicas)) for run in self.against[arm].runs]
        where = self.opponent.revision if self.opponent is not None else "the other revision"
        return found + [(f"at {where}, {run.arm.label}", run) for run in there]

    def _arms_against(self, replicas: int) -> list[Arm]:
        """The arm and its reference, where the other revision measured both."""
        arms = [self.arm_of(replicas), self.sweep.spec.reference_arm]
        return arms if all(arm in self.against for arm in arms) else []


def _rounds_of(sides: Sequence[Sequence[Run]]) -> _Rounds:
    first, *others = ([run.round for run in runs] for runs in sides)
    common = set(first).intersection(*others)
    whole = [number for number in first if number in common]
    disturbed = Disturbed.of(run for runs in sides for run in runs)
    return _Rounds(whole, disturbed, counting(whole, disturbed))


def _paired(rounds: Sequence[int], own: Sequence[Run], reference: Sequence[Run], *versus: Sequence[Run]) -> PairedRuns:
    def of_rounds(runs: Sequence[Run]) -> list[Run]:
        by_round = {run.round: run for run in runs}
        return [by_round[number] for number in rounds]

    return PairedRuns(
        reference=tuple(run.throughput for run in of_rounds(reference)),
        reference_step_time=tuple(run.step_time for run in of_rounds(reference)),
        throughput=tuple(run.throughput for run in of_rounds(own)),
        step_time=tuple(run.step_time for run in of_rounds(own)),
        versus=tuple(run.throughput for runs in versus for run in of_rounds(runs)),
    )
