"""What is measured: a sweep's arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Device = Literal["cpu", "gpu"]
Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Arm:
    """A workload under a strategy at one replica count."""

    workload: str
    strategy: str
    replicas: int
    device: Device
    is_reference: bool = False

    @property
    def label(self) -> str:
        """`T(4)`; an arm of one replica names its strategy, as it is not the reference T(1)."""
        if self.is_reference:
            return "T(1)"
        return f"T({self.replicas})" if self.replicas > 1 else f"T(1) {self.strategy}"


@dataclass(frozen=True)
class SweepSpec:
    """One tfperf marker, checked: the arms that a test function compares."""

    test: str
    """Node id without the replica count, for instance ``perf_tests/test_a.py::test_a``."""
    workload: str
    strategy: str
    replicas: tuple[int, ...]
    device: Device
    workload_params: Mapping[str, object] = field(default_factory=dict)
    """Every parameter of the workload, defaults included."""
    strategy_options: Mapping[str, object] = field(default_factory=dict)
    """Every option of the strategy, defaults included."""
    min_efficiency: Mapping[int, float] = field(default_factory=dict)
    """Floor of E(N) by replica count, as a fraction."""
    tolerance: Mapping[int, float] = field(default_factory=dict)
    """Largest relative loss that is no regression, by replica count; empty: the session's."""
    rounds: int | None = None
    reference: str = "single"
    """Strategy under which T(1) is measured."""
    variant: str | None = None
    slowdown: Mapping[int | str, float] = field(default_factory=dict)
    """For testing the gate: arm (replica count or ``"reference"``) to fraction by which its steps take longer."""
    timeout: float | None = None

    @property
    def baseline_name(self) -> str:
        """Stem of the baseline file: ``<workload>-<strategy>[-<variant>]``."""
        return "-".join(part for part in (self.workload, self.strategy, self.variant) if part)

    @property
    def definition(self) -> dict[str, Scalar]:
        """What was measured, flat and printable: a baseline of another definition is incomparable.

        The slowdown is left out on purpose: it is a fault to be found, not another thing to measure.
        """
        facts: dict[str, Scalar] = {"scaling": "weak", "reference": self.reference, "device": self.device}
        for prefix, values in (("workload", self.workload_params), ("strategy", self.strategy_options)):
            for key in sorted(values):
                value = values[key]
                facts[f"{prefix}.{key}"] = (
                    value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
                )
        return facts

    @property
    def reference_arm(self) -> Arm:
        return Arm(self.workload, self.reference, 1, self.device, is_reference=True)

    def arm(self, replicas: int) -> Arm:
        return Arm(self.workload, self.strategy, replicas, self.device)


@dataclass(frozen=True)
class Sweep:
    """The part of a spec that this session measures: the reference and the selected arms."""

    spec: SweepSpec
    replicas: tuple[int, ...]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm of a round, the reference first; one arm serves twice where it is its own reference."""
        arms = [self.spec.reference_arm]
        for count in self.replicas:
            if not self.is_own_reference(count):
                arms.append(self.spec.arm(count))
        return tuple(arms)

    def is_own_reference(self, replicas: int) -> bool:
        """True where T(N) and T(1) are one and the same arm, so that E(N) is 1 and says nothing."""
        return replicas == 1 and self.spec.strategy == self.spec.reference
