"""What a sweep is held against where that is another revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_tfperf.baseline.entry import NO_RUNS, entry_of
from pytest_tfperf.diagnosis.details import fact_lines
from pytest_tfperf.plan import definition_of
from pytest_tfperf.records.arm import Scalar, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry, Provenance
from pytest_tfperf.records.sweep import PairedRuns, SweepResult
from pytest_tfperf.units import plural


def held_definition(spec: SweepSpec, cores: Sequence[int]) -> dict[str, Scalar]:
    """What both sides must agree on: as of a baseline, and what a baseline has in its file's name."""
    return {"workload": spec.workload, "strategy": spec.strategy, **definition_of(spec, cores)}


@dataclass(frozen=True)
class Held:
    """What an arm is judged against."""

    baseline: BaselineEntry | None
    """The stored measurement, or the other revision's in the same form; None where there is none."""
    runs: PairedRuns | None
    """The other revision's runs, one for each of this side's, of the same round; None against a stored baseline."""
    definition: Mapping[str, Scalar]
    """What is measured here, in the terms of the baseline's definition."""
    missing: str
    """Why there is nothing, for the reader."""


def held_opponent(result: SweepResult, replicas: int, definition: Mapping[str, Scalar]) -> Held:
    """The other revision's runs of an arm, or why there are none.

    A test that measures something else there has an entry without values: its definition says what differs.
    """
    opponent, runs = result.opponent, result.paired_against(replicas)
    if opponent is None:
        raise ValueError("the sweep was measured without another revision")
    missing = opponent.missing
    if not missing and replicas not in opponent.replicas:
        missing = (
            f"new in this checkout: {opponent.revision} does not measure {plural(replicas, 'replica')} in this test, "
            "so there is nothing to compare"
        )
    if missing:
        return Held(None, None, definition, missing)
    spec = result.sweep.spec
    entry = entry_of(
        spec,
        replicas,
        runs or NO_RUNS,
        Provenance("", opponent.revision.commit, False, f"{spec.test}[{replicas}]"),
        definition=opponent.definition,
        hard=result.environment.hard,
        soft=opponent.soft,
    )
    return Held(entry, runs, definition, "")


def other_fact_lines(result: SweepResult, replicas: int) -> tuple[str, ...]:
    """Facts of the arm's step at the other revision that do not hold here, a line each."""
    opponent, arm = result.opponent, result.arm_of(replicas)
    if opponent is None:
        return ()
    here = fact_lines(result.results[arm].runs[-1])
    return tuple(
        f"{arm.label} at {opponent.revision}, {line}" for line in opponent.facts.get(arm, ()) if line not in here
    )
