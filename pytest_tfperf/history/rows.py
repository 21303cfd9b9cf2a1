"""A session's report as rows of the tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tfperf.report.document import Case, Figure, Place, SessionReport
from pytest_tfperf.report.json_file import to_json
from pytest_tfperf.report.measured import MeasuredRun, MeasuredSweep

Row = dict[str, Any]


@dataclass(frozen=True)
class ArmRows:
    """An arm, and one row for each of its rounds; both still without the numbers that the database gives them."""

    arm: Row
    runs: tuple[Row, ...]


@dataclass(frozen=True)
class SessionRows:
    """Everything that is stored of a session."""

    session: Row
    environments: tuple[Row, ...]
    arms: tuple[ArmRows, ...]


def session_rows(report: SessionReport) -> SessionRows:
    """Make the rows; the digest is of the whole report, so the same report has the same one."""
    return SessionRows(
        session={
            "digest": hashlib.sha256(to_json(report)).hexdigest(),
            "started": report.started,
            "seconds": report.seconds,
            "commit": report.commit,
            "dirty": report.dirty,
            "against": report.against,
            "plugin": report.plugin,
            "smoke": report.settings.smoke,
            "exit_status": report.exit_status,
            "tally": report.tally,
            "settings": {
                "tolerance": report.settings.tolerance,
                "rounds": report.settings.rounds,
                "window_seconds": report.settings.window_seconds,
                "strict": report.settings.strict,
                "save": report.settings.save,
            },
            "arguments": list(report.arguments),
        },
        environments=tuple(_environment(device, place) for device, place in report.places.items()),
        arms=tuple(_arm(case, report.sweep_of(case), report.places.get(case.device)) for case in report.cases),
    )


def digest(values: Mapping[str, object]) -> str:
    """Sixteen hexadecimal digits that two mappings share where they hold the same, in whatever order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _environment(device: str, place: Place) -> Row:
    return {
        "device": device,
        "name": place.name,
        "digest": digest(place.hard),
        "hard": dict(place.hard),
        "soft": dict(place.soft),
    }


def _arm(case: Case, sweep: MeasuredSweep | None, place: Place | None) -> ArmRows:
    judgement = case.judgement
    own, reference = _runs_of(case, sweep)
    runs = tuple(_rounds(own, reference))
    found: Row = {
        "test": case.test,
        "replicas": case.replicas,
        "workload": case.workload,
        "strategy": case.strategy,
        "variant": case.variant or "",
        "device": case.device,
        "environment": place.name if place and sweep else "",
        "environment_digest": digest(place.hard) if place and sweep else "",
        "definition_digest": digest(sweep.definition) if sweep else "",
        "own_reference": bool(own) and own is reference,
        "outcome": case.outcome,
        "verdict": str(judgement.verdict) if judgement else None,
        "rounds": len(runs),
    }
    for name in ("reference", "throughput", "efficiency", "step_time"):
        figure: Figure | None = getattr(judgement, name) if judgement else None
        found[name] = figure.value if figure else None
        found[f"{name}_low"] = figure.low if figure else None
        found[f"{name}_high"] = figure.high if figure else None
    return ArmRows(found, runs)


def _runs_of(case: Case, sweep: MeasuredSweep | None) -> tuple[tuple[MeasuredRun, ...], tuple[MeasuredRun, ...]]:
    """Runs of the arm and of its reference: the very same ones where the arm is T(1) itself."""
    if sweep is None:
        return (), ()
    reference = sweep.reference.runs if sweep.reference else ()
    own = sweep.arm("measured", case.replicas)
    return (own.runs if own else reference if case.replicas == 1 else ()), reference


def _rounds(own: tuple[MeasuredRun, ...], reference: tuple[MeasuredRun, ...]) -> Iterator[Row]:
    beside = {run.round: run for run in reference}
    for run in own:
        other = beside.get(run.round)
        yield {
            "round": run.round,
            "throughput": run.throughput,
            "step_time": run.step_time,
            "reference_throughput": other.throughput if other else None,
            "reference_step_time": other.step_time if other else None,
            "disturbed": bool(run.disturbances or (other and other.disturbances)),
        }
