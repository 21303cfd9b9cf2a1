"""What a session measured of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tfperf.records.arm import Arm, Scalar, Sweep
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import ArmResult


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
class SweepResult:
    """All runs of a sweep, and where they were made."""

    sweep: Sweep
    results: Mapping[Arm, ArmResult]
    environment: Environment
    rounds: int
    seconds: float
    cores_per_rank: int | None = None
    """CPU cores that each replica was pinned to; None on GPUs."""

    @property
    def definition(self) -> dict[str, Scalar]:
        """What was measured, with the share of the machine that each replica had."""
        share = {} if self.cores_per_rank is None else {"cores_per_rank": self.cores_per_rank}
        return {**self.sweep.spec.definition, **share}

    def arm_of(self, replicas: int) -> Arm:
        spec = self.sweep.spec
        return spec.reference_arm if self.sweep.is_own_reference(replicas) else spec.arm(replicas)

    def error_of(self, replicas: int) -> Exception | None:
        """The fault that leaves the arm, its reference or what it is held against without a result."""
        errors = (self.results[arm].error for arm in self._arms_of(replicas))
        return next((error for error in errors if error is not None), None)

    def paired(self, replicas: int) -> PairedRuns:
        """Runs of the rounds in which every arm that the count needs was measured."""
        by_round = [{run.round: run for run in self.results[arm].runs} for arm in self._arms_of(replicas)]
        rounds = [number for number in by_round[0] if all(number in runs for runs in by_round)]
        own, reference, *versus = ([runs[number] for number in rounds] for runs in by_round)
        return PairedRuns(
            reference=tuple(run.throughput for run in reference),
            reference_step_time=tuple(run.step_time for run in reference),
            throughput=tuple(run.throughput for run in own),
            step_time=tuple(run.step_time for run in own),
            versus=tuple(run.throughput for runs in versus for run in runs),
        )

    def warnings_of(self, replicas: int) -> tuple[str, ...]:
        """What was odd about the runs, each once, in the order in which it was seen."""
        runs = [run for arm in dict.fromkeys(self._arms_of(replicas)) for run in self.results[arm].runs]
        return tuple(dict.fromkeys(f"{run.arm.label}, {warning}" for run in runs for warning in run.warnings))

    def _arms_of(self, replicas: int) -> list[Arm]:
        """The arm itself, its reference, and what it is held against, if anything."""
        versus = self.sweep.spec.versus_arm(replicas)
        return [self.arm_of(replicas), self.sweep.spec.reference_arm, *([versus] if versus else [])]
