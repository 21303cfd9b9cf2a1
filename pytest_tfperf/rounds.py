"""Measures a sweep: round after round, every arm in fresh processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import TfPerfError
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.measurement.clock import Clock, MonotonicClock
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.plan import cores_per_rank, place
from pytest_tfperf.records.arm import Arm, Sweep, SweepSpec
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import ArmResult, Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.units import format_number, plural
from pytest_tfperf.workloads.base import WorkloadDefinition


class Progress(Protocol):
    """Where long work says how far it is."""

    def status(self, text: str) -> None:
        """What goes on right now: overwrites the last one on a terminal, is dropped elsewhere."""
        ...

    def line(self, text: str) -> None:
        """Something done: stays on the screen or in the log."""
        ...


class SweepMeasurer:
    """Runs the arms of sweeps on clusters of fresh processes, one run at a time."""

    def __init__(self, config: PerfConfig, launcher: ClusterLauncher, progress: Progress) -> None:
        self._config = config
        self._launcher = launcher
        self._progress = progress
        self._clock: Clock = MonotonicClock()
        self._cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def measure(
        self, sweep: Sweep, workload: WorkloadDefinition, environment: Environment, gpus: Sequence[str]
    ) -> SweepResult:
        """Measure every arm in each round; an arm that cannot be measured keeps its error, the others go on.

        Arms are interleaved so that a drift of the machine hits them alike, and every other round goes through
        them backwards so that being first is nobody's lot. Without its reference an arm says nothing, so a failed
        reference ends the sweep.
        """
        spec = sweep.spec
        rounds = 1 if self._config.smoke else self._config.forced_rounds or spec.rounds or self._config.rounds
        started = self._clock.now()
        runs: dict[Arm, list[Run]] = {arm: [] for arm in sweep.arms}
        errors: dict[Arm, Exception] = {}
        self._progress.line(f"{spec.test}: {plural(len(sweep.arms), 'arm')}, {plural(rounds, 'round')}")
        for number in range(1, rounds + 1):
            for arm in sweep.arms if number % 2 else reversed(sweep.arms):
                if arm in errors:
                    continue
                try:
                    runs[arm].append(self._run(spec, arm, workload, number, gpus))
                except TfPerfError as error:
                    errors[arm] = error
            self._report_round(number, rounds, runs, errors)
            if spec.reference_arm in errors or len(errors) == len(runs):
                break
        return SweepResult(
            sweep,
            {arm: ArmResult(arm, tuple(runs[arm]), errors.get(arm)) for arm in sweep.arms},
            _with_versions(environment, [run for each in runs.values() for run in each]),
            rounds,
            self._clock.now() - started,
            cores_per_rank(spec, self._cores),
        )

    def _run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        recipe = spec.recipe_of(arm)
        job = Job(
            workload=workload,
            params=recipe.workload_params,
            strategy=recipe.strategy,
            options=recipe.strategy_options,
            device=arm.device,
            replicas=arm.replicas,
            policy=self._config.measurement,
            slowdown=spec.slowdown_of(arm),
        )
        timeout = spec.timeout or self._config.timeout
        self._progress.status(f"{spec.test}: round {number}, {arm.label}")
        started = self._clock.now()
        tasks = place(spec, arm, gpus, self._cores)
        traffic = None
        with self._launcher.start(tasks, link=recipe.link, start_timeout=timeout) as cluster:
            if recipe.link is not None:
                cluster.start_sampling()
            left = max(1.0, timeout - (self._clock.now() - started))
            results = cluster.run(measure, job, timeout=left)
            if recipe.link is not None:
                traffic = cluster.stop_sampling()
        run = aggregate(arm, number, [run for run in results.values() if run is not None])
        return replace(run, traffic=traffic, hosts={str(task.id): task.host for task in tasks})

    def _report_round(self, number: int, rounds: int, runs: dict[Arm, list[Run]], errors: dict[Arm, Exception]) -> None:
        parts = []
        for arm, measured in runs.items():
            if arm in errors:
                parts.append(f"{arm.label} failed")
            elif measured and measured[-1].round == number:
                parts.append(f"{arm.label} {format_number(measured[-1].throughput)} examples/s")
        self._progress.line(f"  round {number}/{rounds}: {', '.join(parts)}")


def _with_versions(environment: Environment, runs: Sequence[Run]) -> Environment:
    """Add what only the tasks see: the versions in use, and those TensorFlow was built for."""
    versions = {key: value for run in runs for task in run.tasks for key, value in task.versions.items()}
    return replace(environment, soft={**environment.soft, **versions})
