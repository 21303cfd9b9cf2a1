"""What the database holds of an arm, night by night."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tfperf.records.comparison import Metric

METRICS: tuple[Metric, ...] = ("reference", "throughput", "efficiency")


@dataclass(frozen=True)
class ArmKey:
    """An arm, what it measured and where: only nights that share all of this are held against each other."""

    test: str
    """Node id without the replica count."""
    replicas: int
    workload: str
    strategy: str
    variant: str
    device: str
    environment: str
    environment_digest: str
    """Of all hard keys; the name is made of some."""
    definition_digest: str

    @property
    def name(self) -> str:
        """As people ask for it: ``perf_tests/test_a.py::test_a[4]``."""
        return f"{self.test}[{self.replicas}]"

    @property
    def sweep(self) -> tuple[str, ...]:
        """What it shares with the arms that are measured beside it, and so its T(1)."""
        return (self.test, self.device, self.environment_digest, self.definition_digest)

    def label(self, metric: Metric) -> str:
        """``T(1)``, ``T(4)``, ``E(4)``; with one replica the arm's own throughput names its strategy."""
        if metric == "reference":
            return "T(1)"
        if metric == "throughput" and self.replicas == 1:
            return f"T(1) {self.strategy}"
        return f"{'T' if metric == 'throughput' else 'E'}({self.replicas})"


@dataclass(frozen=True)
class Night:
    """All sessions of one day that measured the arm, as one value for each metric."""

    date: str
    """UTC, as ``2026-11-20``."""
    commit: str
    """What the day's last session measured; empty outside a git repository."""
    dirty: bool
    soft: Mapping[str, str]
    """Soft keys of the environment, of the day's last session."""
    verdict: str
    """The gate's, of the day's last session."""
    values: Mapping[Metric, float]
    """Medians over the day's runs: examples/s, or a fraction."""
    runs: int


@dataclass(frozen=True)
class ArmHistory:
    """The nights of an arm, oldest first; at least one."""

    key: ArmKey
    nights: tuple[Night, ...]
    own_reference: bool
    """The arm is T(1) itself."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Those that say something of their own."""
        return ("reference",) if self.own_reference else METRICS
