"""Measures one run of an arm on a cluster of fresh processes, again where something disturbed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import TaskDiedError, TaskFailedError
from pytest_tfperf.measurement.aggregate import aggregate
from pytest_tfperf.measurement.clock import Clock, MonotonicClock
from pytest_tfperf.measurement.cores import allowed_cores
from pytest_tfperf.measurement.health import HealthWatcher
from pytest_tfperf.measurement.job import COMPILING, Job, measure
from pytest_tfperf.pacing import planned_rounds
from pytest_tfperf.plan import place
from pytest_tfperf.records.arm import Arm, SweepSpec
from pytest_tfperf.records.health import HostScope
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.task import TaskPlacement
from pytest_tfperf.workloads.base import WorkloadDefinition


class Progress(Protocol):
    """Where long work says how far it is."""

    def status(self, text: str) -> None:
        """What goes on right now: overwrites the last one on a terminal, is dropped elsewhere."""
        ...

    def line(self, text: str) -> None:
        """Something done: stays on the screen or in the log."""
        ...


class RunMeasurer:
    """Makes runs of arms, one at a time."""

    def __init__(
        self, config: PerfConfig, launcher: ClusterLauncher, progress: Progress, cores: Sequence[int] = ()
    ) -> None:
        """`cores`: usable CPU cores by number; empty where nobody can be pinned."""
        self._config = config
        self._launcher = launcher
        self._progress = progress
        self._clock: Clock = MonotonicClock()
        self._cores = cores
        self._health = HealthWatcher(allowed_cores() if cores else ())  # where tasks run that nobody pins
        self._repeats: dict[str, int] = {}
        """Disturbed runs that were made again, by test."""
        self._reuses = config.compile_cache
        """False once it has turned out that compiled programs cannot be used again here."""

    def pin_to(self, cores: Sequence[int]) -> None:
        """From now on on these cores, of the same number."""
        self._cores = cores

    def close(self) -> None:
        """Let go of the GPUs' driver."""
        self._health.close()

    def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        """One run of an arm in fresh processes, made again at once while something disturbs it.

        The undisturbed one counts. Where every attempt was disturbed the last one is kept, and says so; whether it
        counts is up to `records.counting`, and never to the value that it gave. A sweep has as many repeats as rounds,
        so that a machine that is never quiet doubles its time at most.

        Raises:
            TfPerfError: it could not be measured.
        """
        discarded: list[tuple[str, ...]] = []
        started = self._clock.now()
        while True:
            run, lasting = self._attempt(spec, arm, workload, number, gpus)
            passing = set(run.disturbances) - set(lasting)
            if not passing or len(discarded) >= self._config.measurement.max_repeats or not self._may_repeat(spec):
                seconds = self._clock.now() - started
                return replace(run, attempts=1 + len(discarded), discarded=tuple(discarded), seconds=seconds)
            discarded.append(run.disturbances)
            self._repeats[spec.test] = self._repeats.get(spec.test, 0) + 1
            self._progress.line(f"  {arm.label} again, it was disturbed: {'; '.join(run.disturbances)}")

    def _may_repeat(self, spec: SweepSpec) -> bool:
        return not self._config.smoke and self._repeats.get(spec.test, 0) < planned_rounds(self._config, spec)

    def _attempt(
        self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]
    ) -> tuple[Run, tuple[str, ...]]:
        """One run, and those of its disturbances that another run would show again."""
        tasks = place(spec, arm, gpus, self._cores)
        with self._health.watch(tasks, gpus, links=spec.recipe_of(arm).link is not None) as health:
            run = self._compiled(spec, arm, workload, number, tasks, health.scope)
        found = health.disturbances(run)
        outside = bool(found) and set(found) <= set(health.outside(run))
        return replace(run, disturbances=found, outside=outside, gpu_notes=health.notes(run)), health.lasting()

    def _compiled(
        self,
        spec: SweepSpec,
        arm: Arm,
        workload: WorkloadDefinition,
        number: int,
        tasks: Sequence[TaskPlacement],
        scope: HostScope,
    ) -> Run:
        """A run; again where it failed as it compiled, for XLA may not be able to write down all that it can run."""
        try:
            return self._on_cluster(spec, arm, workload, number, tasks, scope)
        except (TaskFailedError, TaskDiedError) as error:
            compiling = any(task.phase in COMPILING for task in error.tasks)
            if not self._reuses or not compiling or not error.within_tensorflow:
                raise
            why = error.summary.splitlines()[0]
            self._reuses = False
            try:
                run = self._on_cluster(spec, arm, workload, number, tasks, scope)
            except BaseException:
                self._reuses = True  # it was something else
                raise
        self._progress.line(
            f"  {arm.label} failed where compiled programs are used again ({why}), so every run compiles from here "
            "on; --no-tfperf-compile-cache has it so from the start"
        )
        return run

    def _on_cluster(
        self,
        spec: SweepSpec,
        arm: Arm,
        workload: WorkloadDefinition,
        number: int,
        tasks: Sequence[TaskPlacement],
        scope: HostScope,
    ) -> Run:
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
            scope=scope,
            asked=self._clock.now(),
        )
        timeout = spec.timeout or self._config.timeout
        self._progress.status(f"{spec.test}: round {number}, {arm.label}")
        started = self._clock.now()
        traffic = None
        with self._launcher.start(
            tasks, link=recipe.link, compile_cache=self._reuses, start_timeout=timeout
        ) as cluster:
            if recipe.link is not None:
                cluster.start_sampling()
            left = max(1.0, timeout - (self._clock.now() - started))
            results = cluster.run(measure, job, timeout=left)
            if recipe.link is not None:
                traffic = cluster.stop_sampling()
            logs = {str(task.id): cluster.log_tail(task.id) for task in tasks}
        run = aggregate(arm, number, [run for run in results.values() if run is not None])
        hosts = {str(task.id): task.host for task in tasks}
        return replace(run, traffic=traffic, hosts=hosts, logs={task: text for task, text in logs.items() if text})
