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
        """The fault that leaves the arm, or its reference, without a result."""
        return self.results[self.arm_of(replicas)].error or self.results[self.sweep.spec.reference_arm].error

    def paired(self, replicas: int) -> PairedRuns:
        reference = {run.round: run for run in self.results[self.sweep.spec.reference_arm].runs}
        pairs = [
            (reference[run.round], run) for run in self.results[self.arm_of(replicas)].runs if run.round in reference
        ]
        return PairedRuns(
            tuple(one.throughput for one, _ in pairs),
            tuple(one.step_time for one, _ in pairs),
            tuple(run.throughput for _, run in pairs),
            tuple(run.step_time for _, run in pairs),
        )

    def warnings_of(self, replicas: int) -> tuple[str, ...]:
        """What was odd about the runs, each once, in the order in which it was seen."""
        runs = (*self.results[self.sweep.spec.reference_arm].runs, *self.results[self.arm_of(replicas)].runs)
        return tuple(dict.fromkeys(f"{run.arm.label}, {warning}" for run in runs for warning in run.warnings))
