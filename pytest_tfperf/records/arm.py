"""What is measured: a sweep's arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pytest_tfperf.records.link import Link
from pytest_tfperf.units import slowed_by

Device = Literal["cpu", "gpu"]
Scalar = str | int | float | bool | None
Role = Literal["measured", "reference", "versus"]

_ADDED_LATER: Mapping[str, Scalar] = {"strategy.compression": "none", "strategy.pack_variables": False}
_ADDED_TO: Mapping[str, Mapping[str, Scalar]] = {
    strategy: {"strategy.steps_per_call": 1} for strategy in ("single", "independent", "mirrored")
}


def added_later(strategy: str) -> dict[str, Scalar]:
    """What a definition leaves out: settings that came after baselines were saved, at the value that means what there
    was before, so that these baselines still hold.
    """
    return {**_ADDED_LATER, **_ADDED_TO.get(strategy, {})}


def definition_changes(
    before: Mapping[str, Scalar], now: Mapping[str, Scalar], strategy: str
) -> list[tuple[str, str, str]]:
    """What two definitions of a strategy's arm differ in: a key, what it was, and what it is.

    Of what a definition leaves out this is the value that leaving it out means, where that is known.
    """
    later = {**_ADDED_LATER, **_ADDED_TO["single"]}

    def word(key: str, definition: Mapping[str, Scalar]) -> str:
        if key in definition:
            return str(definition[key])
        option = f"strategy.{key.removeprefix('reference.')}"
        if not key.startswith("reference."):
            return str(later.get(key, "not set"))
        if definition.get("reference") == strategy and option in definition:
            return str(definition[option])
        return str(later.get(option, "its default"))

    missing = object()
    differing = [key for key in sorted({*now, *before}) if before.get(key, missing) != now.get(key, missing)]
    return [(key, word(key, before), word(key, now)) for key in differing]


@dataclass(frozen=True)
class Recipe:
    """How an arm trains the workload: everything that may differ between the arms of one test."""

    strategy: str
    strategy_options: Mapping[str, Scalar] = field(default_factory=dict)
    """Every option of the strategy, defaults included."""
    workload_params: Mapping[str, object] = field(default_factory=dict)
    """Every parameter of the workload, defaults included."""
    link: Link | None = None
    """The line that each host has; None: one machine, no shaped network."""
    hosts: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """By replica count, the tasks of each host, as in ``(("ps:0", "worker:0"), ("worker:1",))``; a count that is not
    there has a host for each task. Means nothing without a link."""

    @property
    def definition(self) -> dict[str, Scalar]:
        """The recipe flat and printable, keys in a fixed order."""
        facts: dict[str, Scalar] = {"strategy": self.strategy}
        if self.link is not None:
            facts["link"] = str(self.link)
            for count, hosts in sorted(self.hosts.items()):
                facts[f"hosts.{count}"] = " | ".join(" ".join(tasks) for tasks in hosts)
        for prefix, values in (("strategy", self.strategy_options), ("workload", self.workload_params)):
            for key in sorted(values):
                value = values[key]
                facts[f"{prefix}.{key}"] = (
                    value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
                )
        later = added_later(self.strategy)
        return {key: value for key, value in facts.items() if key not in later or value != later[key]}


@dataclass(frozen=True)
class Arm:
    """A workload under a strategy at one replica count, and its part in a sweep."""

    workload: str
    strategy: str
    replicas: int
    device: Device
    role: Role = "measured"
    against: str = ""
    """For the role `versus`: what tells it from the measured arm, for instance ``ps_async`` or ``batch_size=64``."""

    @property
    def is_reference(self) -> bool:
        return self.role == "reference"

    @property
    def label(self) -> str:
        """`T(4)`; an arm of one replica names its strategy, as it is not the reference T(1)."""
        if self.is_reference:
            return "T(1)"
        if self.role == "versus":
            return f"T({self.replicas}) {self.against}"
        if self.replicas == 1:
            return f"T(1) {self.strategy}"
        return f"T({self.replicas})"


@dataclass(frozen=True)
class SweepSpec:
    """One tfperf marker, checked: the arms that a test function compares."""

    test: str
    """Node id without the replica count, for instance ``perf_tests/test_a.py::test_a``."""
    workload: str
    recipe: Recipe
    reference: Recipe
    """How T(1) is measured."""
    replicas: tuple[int, ...]
    device: Device
    versus: Recipe | None = None
    """What the recipe must be faster than, measured beside it in every round at the same replica count."""
    suspect: str = ""
    """What `versus` has and the recipe has not, as people call it; without `versus`, how steps are counted."""
    min_efficiency: Mapping[int, float] = field(default_factory=dict)
    """Floor of E(N) by replica count, as a fraction."""
    min_speedup: Mapping[int, float] = field(default_factory=dict)
    """Floor of S(N) = T(N) / T(N) of `versus`, by replica count."""
    tolerance: Mapping[int, float] = field(default_factory=dict)
    """Largest relative loss that is no regression, by replica count; empty: the session's."""
    rounds: int | None = None
    variant: str | None = None
    slowdown: Mapping[int | str, float] = field(default_factory=dict)
    """For testing the gate: arm (replica count or ``"reference"``) to fraction by which its steps take longer."""
    timeout: float | None = None
    reference_options: Mapping[str, Scalar] = field(default_factory=dict)
    """The reference's options that its strategy's name does not tell (`recipes.options_apart`)."""

    @property
    def strategy(self) -> str:
        return self.recipe.strategy

    @property
    def baseline_name(self) -> str:
        """Stem of the baseline file: ``<workload>-<strategy>[-<variant>]``."""
        return "-".join(part for part in (self.workload, self.strategy, self.variant) if part)

    @property
    def definition(self) -> dict[str, Scalar]:
        """What was measured, flat and printable: a baseline of another definition is incomparable.

        The slowdown is left out on purpose: it is a fault to be found, not another thing to measure. So is what the
        recipe is held against, as no baseline holds it.
        """
        own = self.recipe.definition
        del own["strategy"]
        shared = {f"reference.{name}": value for name, value in sorted(self.reference_options.items())}
        return {"scaling": "weak", "reference": self.reference.strategy, **shared, "device": self.device, **own}

    def recipe_of(self, arm: Arm) -> Recipe:
        if arm.role == "versus" and self.versus is not None:
            return self.versus
        return self.reference if arm.is_reference else self.recipe

    def slowdown_of(self, arm: Arm) -> float:
        """Fraction by which the arm's steps are to take longer; 0 for nearly all."""
        if arm.role == "versus":
            return 0.0
        return self.slowdown.get("reference" if arm.is_reference else arm.replicas, 0.0)

    def slowed(self, replicas: int) -> tuple[str, ...]:
        """Which of T(1) and T(N) the slowdown makes take longer, and by how much: ``T(4) by 10 %``."""
        own = replicas == 1 and self.recipe == self.reference  # one arm is both, and slowed as the reference
        arms = [self.reference_arm, *([] if own else [self.arm(replicas)])]
        return tuple(slowed_by(arm.label, self.slowdown_of(arm)) for arm in arms if self.slowdown_of(arm))

    @property
    def reference_arm(self) -> Arm:
        return Arm(self.workload, self.reference.strategy, 1, self.device, "reference")

    def arm(self, replicas: int) -> Arm:
        return Arm(self.workload, self.recipe.strategy, replicas, self.device)

    def versus_arm(self, replicas: int) -> Arm | None:
        if self.versus is None:
            return None
        return Arm(self.workload, self.versus.strategy, replicas, self.device, "versus", self.against)

    @property
    def against(self) -> str:
        """What tells `versus` from the recipe: its strategy, or else the settings that differ; empty without one."""
        if self.versus is None or self.versus.strategy != self.strategy:
            return self.versus.strategy if self.versus else ""
        own, other = self.recipe.definition, self.versus.definition
        changed = [key for key in {**other, **own} if own.get(key) != other.get(key) and "hosts" not in key]
        given = {**added_later(self.strategy), **other}
        return " ".join(f"{key.rpartition('.')[2]}={given.get(key, 'none')}" for key in changed) or "other hosts"


@dataclass(frozen=True)
class Sweep:
    """The part of a spec that this session measures: the reference and the selected arms."""

    spec: SweepSpec
    replicas: tuple[int, ...]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm of a round, the reference first; one arm serves twice where it is its own reference."""
        spec = self.spec
        arms = [spec.reference_arm]
        for count in self.replicas:
            own = [] if self.is_own_reference(count) else [spec.arm(count)]
            rival = spec.versus_arm(count)
            arms += [*own, *([rival] if rival else [])]
        return tuple(arms)

    def is_own_reference(self, replicas: int) -> bool:
        """True where T(N) and T(1) are one and the same arm, so that E(N) is 1 and says nothing."""
        return replicas == 1 and self.spec.recipe == self.spec.reference

    def arm_of(self, replicas: int) -> Arm:
        return self.spec.reference_arm if self.is_own_reference(replicas) else self.spec.arm(replicas)

    def arms_of(self, replicas: int) -> tuple[Arm, ...]:
        """What a count's verdict needs: the arm itself, its reference, and what it is held against, if anything."""
        if replicas not in self._arms_of:
            versus = self.spec.versus_arm(replicas)
            found = (self.arm_of(replicas), self.spec.reference_arm, *([versus] if versus else []))
            self._arms_of[replicas] = found
        return self._arms_of[replicas]

    @cached_property
    def _arms_of(self) -> dict[int, tuple[Arm, ...]]:
        """What `arms_of` has found: each look at an arm asks a dozen times."""
        return {}
