"""What of a measurement may not become part of a baseline, and what of that is known before it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_tfperf.comparison.effect import efficiencies
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.pacing import FEWEST_TO_SAVE, planned_rounds
from pytest_tfperf.records.arm import Sweep, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.stats.summary import coefficient_of_variation
from pytest_tfperf.units import format_percent, plural


@dataclass(frozen=True)
class Refusal:
    """Why a measurement is not to be saved."""

    reason: str
    """What a baseline keeps of it, where it is saved by force."""
    details: str = ""
    """Names what else ran on the machine, which is nothing to commit."""
    remedy: str = ""
    doubtful: bool = True
    """Whether the measurement is to be doubted later, too."""

    def __str__(self) -> str:
        details = f" ({self.details})" if self.details else ""
        return "; ".join(filter(None, (self.reason + details, self.remedy)))


def refused_anyway(sweeps: Iterable[Sweep], config: PerfConfig) -> list[str]:
    """Of what is to be saved: what will be refused whatever is measured, a sentence each, before minutes are spent; and
    what would be, and is saved by force.
    """
    if not config.save:
        return []
    if config.smoke:
        return [f"nothing will be saved, as nothing is measured in full ({config.smoke})"]
    refused = [
        (f"{sweep.spec.test}[{replicas}]", refusal)
        for sweep in sweeps
        for replicas in sweep.replicas
        if (refusal := slowed(sweep.spec, replicas) or _too_few(planned_rounds(config, sweep.spec)))
    ]
    if config.force_save:
        return [f"{name} will be saved by force, although {refusal.reason}" for name, refusal in refused]
    return [f"{name} will not be saved: {refusal}" for name, refusal in refused]


def slowed(spec: SweepSpec, replicas: int) -> Refusal | None:
    """Where the marker slows the arm, or its reference, on purpose."""
    arms = ", ".join(spec.slowed(replicas))
    reason = f"its marker's slowdown makes steps longer on purpose ({arms})"
    return Refusal(reason, remedy="take it away first") if arms else None


def under_floor(verdict: ArmVerdict) -> Refusal | None:
    """Where a floor looks missed, though not surely enough for an alarm: what is saved should be sure to be above."""
    low = [floor for floor in verdict.floors if floor.verdict is Verdict.INCONCLUSIVE and floor.now.high < floor.floor]
    if not low:
        return None
    told = [f"{each.label} {each.now.value:.3f} looks to be under its floor {each.floor:.3f}" for each in low]
    return Refusal(" and ".join(told), remedy="more rounds would tell")


def of_another_test(stored: Sequence[BaselineEntry], result: SweepResult) -> Refusal | None:
    """Why it would take the place of what another test measured; None where it would not.

    A test that was renamed measures the same, and one that was changed has its name: either may go on.
    """
    spec = result.sweep.spec
    different = [entry for entry in stored if dict(entry.definition) != dict(result.definition)]
    other = next((entry.provenance.sweep for entry in different if entry.provenance.sweep != spec.test), "")
    if not other:
        return None
    remedy = (
        "give one of them a name of its own with variant='...' in its tfperf marker, or remove the file if that test "
        "is no more"
    )
    reason = f"its baseline {spec.baseline_name!r} is that of {other}, which measured something else"
    return Refusal(reason, remedy=remedy, doubtful=False)


def _too_few(rounds: int) -> Refusal | None:
    if rounds >= FEWEST_TO_SAVE:
        return None
    do = "does" if rounds == 1 else "do"
    reason = f"{plural(rounds, 'round')} {do} not show the noise"
    return Refusal(reason, remedy=f"a baseline needs at least {FEWEST_TO_SAVE}")


def unfit(result: SweepResult, replicas: int, tolerance: float) -> Refusal | None:
    """Where an arm's runs are too few, disturbed or too noisy."""
    runs = result.paired(replicas)
    rounds, disturbed, left = len(runs.throughput), result.disturbances_of(replicas), result.left_out_of(replicas)
    quiet = "save on a quiet machine"
    if left and _too_few(rounds):
        return Refusal(f"something disturbed all but {plural(rounds, 'round')}", "; ".join(left), quiet)
    if too_few := _too_few(rounds):
        return too_few
    if disturbed:
        return Refusal("something disturbed runs that count", "; ".join(disturbed), quiet)
    noise = {
        "T(1)": coefficient_of_variation(runs.reference),
        f"T({replicas})": coefficient_of_variation(runs.throughput),
        f"E({replicas})": coefficient_of_variation(efficiencies(runs.reference, runs.throughput, replicas)),
    }
    label, worst = max(noise.items(), key=lambda item: item[1])
    if worst > tolerance:
        return Refusal(
            f"too noisy: runs of {label} vary by {format_percent(worst)} (standard deviation), its tolerance is "
            f"{format_percent(tolerance)}",
            remedy="make the machine quieter or the tolerance wider",
        )
    return None
