"""Measured runs in the form in which a baseline holds them."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_tfperf.records.arm import Scalar, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry, BaselineSession, Provenance
from pytest_tfperf.records.sweep import PairedRuns

NO_RUNS = PairedRuns((), (), (), ())


def entry_of(
    spec: SweepSpec,
    replicas: int,
    runs: PairedRuns,
    provenance: Provenance,
    *,
    definition: Mapping[str, Scalar],
    hard: Mapping[str, str | int],
    soft: Mapping[str, str],
    run_seconds: tuple[float, float] | None = None,
    window_seconds: float | None = None,
    first_run_seconds: tuple[float, float] | None = None,
) -> BaselineEntry:
    """Make an entry whose only session is these runs."""
    session = BaselineSession(
        provenance=provenance,
        soft=soft,
        reference_throughput=runs.reference,
        reference_step_time=runs.reference_step_time,
        throughput=runs.throughput,
        step_time=runs.step_time,
        run_seconds=run_seconds,
        window_seconds=window_seconds,
        first_run_seconds=first_run_seconds,
    )
    return BaselineEntry(
        workload=spec.workload,
        strategy=spec.strategy,
        variant=spec.variant,
        replicas=replicas,
        definition=definition,
        hard=hard,
        sessions=(session,),
    )
