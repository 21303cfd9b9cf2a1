"""A stored measurement of one arm, with the reference it was paired with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tfperf.records.arm import Scalar
from pytest_tfperf.records.environment import Environment


@dataclass(frozen=True)
class Provenance:
    """Where a stored measurement comes from."""

    date: str
    """UTC, ISO 8601 to the second, for instance ``2026-11-27T22:36:48Z``."""
    commit: str
    """Git commit of the measured checkout; empty outside a repository."""
    dirty: bool
    test: str
    """Node id of the test that was measured."""


@dataclass(frozen=True)
class BaselineEntry:
    """Per-run values of one arm and of its reference, paired by round, and what they were measured on.

    All four value tuples have one value per round, in the same order. Throughputs are examples/s of the
    whole job, step times seconds of one replica's step.
    """

    workload: str
    strategy: str
    variant: str | None
    replicas: int
    definition: Mapping[str, Scalar]
    environment: Environment
    reference_throughput: tuple[float, ...]
    reference_step_time: tuple[float, ...]
    throughput: tuple[float, ...]
    step_time: tuple[float, ...]
    provenance: Provenance
    floor: float | None = None
    """Hand-set floor of E(N) in this environment; wins over the test's `min_efficiency`."""
    tolerance: float | None = None
    """Hand-set tolerance in this environment; wins over the test's."""

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.workload, self.strategy, self.variant) if part)
