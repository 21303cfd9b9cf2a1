"""Makes the one report of a session, which every writer arranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from pytest_tfperf.cases import TestCase
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.records.arm import Arm, Device
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import Run, TaskRun
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.report.document import SCHEMA_VERSION, Case, Place, SessionReport, Settings
from pytest_tfperf.report.measured import MeasuredArm, MeasuredRun, MeasuredSweep, Task
from pytest_tfperf.report.text import tally
from pytest_tfperf.results import Results
from pytest_tfperf.telling import ArmReport
from pytest_tfperf.version import __version__


@dataclass(frozen=True)
class Sitting:
    """When, how and of what a session was."""

    started: str
    """UTC, ISO 8601 to the second."""
    seconds: float
    exit_status: int
    arguments: tuple[str, ...]
    commit: str
    dirty: bool


def session_report(
    sitting: Sitting,
    config: PerfConfig,
    cases: Iterable[TestCase],
    results: Results,
    saved: Sequence[str],
) -> SessionReport:
    """Make the report; `saved` is what was written of which test, a line each."""
    made = tuple(_case(case, results.arms.get((case.spec.test, case.replicas))) for case in cases)
    return SessionReport(
        schema_version=SCHEMA_VERSION,
        plugin=__version__,
        started=sitting.started,
        seconds=sitting.seconds,
        exit_status=sitting.exit_status,
        arguments=sitting.arguments,
        commit=sitting.commit,
        dirty=sitting.dirty,
        against=config.against,
        settings=Settings(
            tolerance=config.comparison.tolerance,
            rounds=config.forced_rounds or config.rounds,
            window_seconds=config.measurement.window_seconds,
            strict=config.strict,
            save=config.save,
            smoke=config.smoke,
            rerun_options=config.rerun_options,
        ),
        places=_places(results.measured),
        sweeps=tuple(_sweep(result) for result in results.measured),
        cases=made,
        findings=results.findings,
        saved=tuple(saved),
        tally=tally(case.word for case in made),
        left_open=tally(results.left_open),
    )


def _places(results: Iterable[SweepResult]) -> dict[str, Place]:
    found: dict[Device, Environment] = {}
    for result in results:
        device = result.sweep.spec.device
        seen = found.get(device)
        # The tasks of each sweep add the versions that they saw.
        soft = {**(seen.soft if seen else {}), **result.environment.soft}
        found[device] = Environment(result.environment.hard, soft)
    return {device: Place(place.name, place.hard, place.soft) for device, place in found.items()}


def _sweep(result: SweepResult) -> MeasuredSweep:
    spec = result.sweep.spec
    return MeasuredSweep(
        test=spec.test,
        workload=spec.workload,
        strategy=spec.strategy,
        variant=spec.variant,
        device=spec.device,
        definition=result.definition,
        rounds=result.rounds,
        seconds=result.seconds,
        arms=tuple(_arm(result, arm) for arm in result.results),
    )


def _arm(result: SweepResult, arm: Arm) -> MeasuredArm:
    own = result.results[arm]
    there = result.against.get(arm)
    return MeasuredArm(
        label=arm.label,
        role=arm.role,
        strategy=arm.strategy,
        replicas=arm.replicas,
        runs=tuple(_run(run) for run in own.runs),
        against=tuple(_run(run) for run in there.runs) if there else (),
        error=str(own.error) if own.error else "",
        logs=own.runs[-1].logs if own.runs else {},
        slowdown=result.sweep.spec.slowdown_of(arm),
    )


def _run(run: Run) -> MeasuredRun:
    return MeasuredRun(
        round=run.round,
        throughput=run.throughput,
        step_time=run.step_time,
        seconds=run.seconds,
        attempts=run.attempts,
        disturbances=run.disturbances,
        outside=run.outside,
        warnings=run.warnings,
        tasks=tuple(_task(task, run.hosts.get(str(task.task), 0)) for task in run.tasks),
    )


def _task(task: TaskRun, host: int) -> Task:
    return Task(
        task=str(task.task),
        host=host,
        replicas=task.replicas,
        examples_per_step=task.examples_per_step,
        windows=tuple((window.start, window.end, window.steps) for window in task.windows),
        own_step_time=task.own_step_time,
        warmup=task.warmup,
        losses=tuple(loss if isfinite(loss) else None for loss in task.losses),
        phases=task.phases,
        facts=task.facts,
    )


def _case(case: TestCase, report: ArmReport | None) -> Case:
    spec = case.spec
    return Case(
        id=case.id,
        test=spec.test,
        replicas=case.replicas,
        workload=spec.workload,
        strategy=spec.strategy,
        variant=spec.variant,
        device=spec.device,
        file=case.file,
        line=case.line,
        outcome=case.outcome,
        judgement=report.judgement if report else None,
        text=case.text,
    )
