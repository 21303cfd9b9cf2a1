"""Composes the rooms: plan -> measure -> compare -> report. One per pytest session; knows no pytest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

from pytest_tfperf.against.command import Invocation
from pytest_tfperf.against.hold import held_definition
from pytest_tfperf.against.other_side import OtherSide
from pytest_tfperf.against.protocol import Line
from pytest_tfperf.against.serve import Collected, Server
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.cases import TestCases
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.durations import History, Stored, stored_of
from pytest_tfperf.errors import TfPerfError
from pytest_tfperf.forecast import Duration
from pytest_tfperf.foreseen import in_vain
from pytest_tfperf.judging import Judge
from pytest_tfperf.lifetime import Lifetime
from pytest_tfperf.measurement import environment as environments
from pytest_tfperf.measurement.clock import MonotonicClock
from pytest_tfperf.measurement.cores import measuring_cores, quiet_cores
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.measurement.provenance import git_provenance
from pytest_tfperf.outcome import fails
from pytest_tfperf.overview import Sitting, session_report
from pytest_tfperf.pacing import TimeBudget
from pytest_tfperf.plan import plan_sweeps
from pytest_tfperf.records.arm import Arm, Device, Sweep, SweepSpec
from pytest_tfperf.records.baseline import Provenance
from pytest_tfperf.records.comparison import ArmVerdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.look import Look
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.results import Results
from pytest_tfperf.rounds import RunMaker, SweepMeasurer
from pytest_tfperf.runs import Progress, RunMeasurer
from pytest_tfperf.saving import Saved, Saver
from pytest_tfperf.telling import ArmReport, arm_report
from pytest_tfperf.workloads.base import WorkloadDefinition


class PerfSession:
    """Measures each sweep once, judges its arms, and saves those that are to be saved."""

    def __init__(self, config: PerfConfig, progress: Progress, runs: RunMaker | None = None) -> None:
        """`runs` makes the runs; None: on clusters of fresh processes."""
        self.config = config
        self.cases = TestCases()
        """The selected tests, and what became of each."""
        self.results = Results(config)
        self.progress = progress
        self._store = BaselineStore(config.baselines)
        self._launcher = ClusterLauncher(launcher=config.launcher, keep_logs=config.keep_logs)
        self._clock = clock = MonotonicClock()
        self._started, self._began = _now(), clock.now()
        self._time = TimeBudget(config, clock)
        self._cores = measuring_cores()
        self._holds_devices = runs is None and config.serve is None and not config.smoke
        """False where nothing is measured or judged here, or by order of a session that holds the devices itself."""
        self._runs = RunMeasurer(config, self._launcher, progress, self._cores)
        self._measurer = SweepMeasurer(runs or self._runs, progress, self._cores, clock)
        self._judge = Judge(config, self._store, self._environment, self._cores)
        self._saver = Saver(config, self._store, self._judge.tolerance)
        self._sweeps: Mapping[str, Sweep] = {}
        self._unmeasured: set[str] = set()
        """Of those, by test, what shares the time that is left."""
        self._environments: dict[Device, Environment] = {}
        self._other: OtherSide | None = None
        self._lifetime = Lifetime(self._launcher.close, self._runs.close)
        self.duration = Duration(config, clock)
        """How long the session takes, for the summary."""

    @property
    def launcher(self) -> ClusterLauncher:
        return self._launcher

    @property
    def other_logs(self) -> str:
        """Folder of the logs of the other revision's tasks, if they are kept; empty without one."""
        return self._other.logs if self._other else ""

    @property
    def saved(self) -> Sequence[Saved]:
        """What was written so far, for the summary."""
        return self._saver.saved

    def plan(self, selected: Iterable[tuple[SweepSpec, int]]) -> None:
        """Take the selected tests and replica counts; raises UsageError where two would share a baseline."""
        self._sweeps = plan_sweeps(selected)
        self._unmeasured = set(self._sweeps)
        self._judge.plan(self._sweeps.values())

    def take_turn(self) -> None:
        """Hold what the planned tests measure on, until the session ends; wait while another session measures there.

        Waiting costs none of the time that the session may take. A smoke run judges nothing, so it disturbs and is
        disturbed like any program.
        """
        if self._holds_devices:
            kinds = {sweep.spec.device for sweep in self._sweeps.values()}
            first, say = self._cores, self.progress.line
            if "cpu" in kinds:
                self._pin_to(quiet_cores(first))
            # The first ones too: another session under the same quota would use it up, whatever cores it is on.
            cores = (*first, *self._cores)
            self._time.put_off(self._lifetime.take_turn(kinds, cores, seconds=self.config.wait, say=say))

    def announce(self, history: History) -> None:
        """Say how long what was planned will take, and what of it will be in vain; `history` is what earlier sessions
        here took.
        """
        sweeps = self._sweeps.values()
        expected = self.duration.begin(sweeps, history, self._stored)
        for line in (str(expected), *in_vain(tuple(sweeps), self.config, self._judge.foreseen)):
            self.progress.line(line)

    def took(self, history: History) -> dict[str, Any]:
        """The history with what this session took."""
        return self.duration.added_to(history, self.results.sweeps)

    def oppose(self, invocation: Invocation) -> None:
        """Start the other revision's side; every sweep from now on is measured beside it.

        Raises:
            UsageError: this is no git repository, or it does not have the revision.
            OtherSideError: the other side's interpreter cannot be started.
        """
        self._other = OtherSide(self.config, invocation, self._cores)
        self._lifetime.ends_first(self._other.close)
        commit, dirty = git_provenance(self.config.root, self.config.baselines)
        here = f"commit {commit[:7]}{' with the uncommitted changes, which are measured too' if dirty else ''}"
        self.progress.line(f"against {self._other.revision}, in the same rounds; this checkout is {here}")

    def serve(self, collected: Collected, line: Line) -> None:
        """Be the other side of a session that holds itself against this one, until it says stop or is gone."""

        def ready() -> tuple[Mapping[str, Mapping[str, str]], str]:
            self._launcher.wait_until_warm(self.config.timeout)
            devices = {spec.device for spec, _ in collected.tests.values()}
            logs = str(self._launcher.run_dir) if self.config.keep_logs else ""
            return {device: self._environment(device).soft for device in devices}, logs

        def measure(spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int) -> Run:
            return self._runs.run(spec, arm, workload, number, _gpus(spec))

        timeout = self.config.timeout
        Server(collected, ready, measure, cores=self._cores, pin_to=self._pin_to, timeout=timeout).serve(line)

    def report(self, spec: SweepSpec, replicas: int, workload: WorkloadDefinition, nodeid: str) -> ArmReport:
        """Measure the sweep if it has not been, and judge the arm; `nodeid` is what reruns it.

        Raises:
            TfPerfError: the arm could not be measured; the same error each time it is asked for.
        """
        key = (spec.test, replicas)
        if key not in self.results.arms:
            result = self._measured(spec, replicas, workload)
            decision = self._judge.decision(spec.test, replicas)
            self.results.arms[key] = arm_report(decision, result, self.config, nodeid)
        return self.results.arms[key]

    def fails(self, verdict: ArmVerdict) -> bool:
        """Whether a verdict fails the test under this session's settings."""
        return fails(verdict, self.config)

    @property
    def unchecked(self) -> list[str]:
        """Node ids of tests that passed with a verdict that fails one: they did not ask for it."""
        failing = {key for key, report in self.results.arms.items() if self.fails(report.verdict)}
        return [
            case.id for case in self.cases if case.outcome == "passed" and (case.spec.test, case.replicas) in failing
        ]

    def save(self, spec: SweepSpec, replicas: int, *, passed: bool) -> None:
        """Add what was measured of the arm to its baseline; `passed` is the outcome of its test.

        Stored sessions from which it differs, to the better or the worse, are replaced: that is another speed, and the
        average of two speeds describes neither.

        Raises:
            BaselineError: it is not fit to be one, or cannot be written. Who asked to save must not be left to think
                that it was.
        """
        report = self.results.arms.get((spec.test, replicas))
        if report is not None:
            commit, dirty = self._checkout
            saved = Provenance(self._date, commit, dirty, f"{spec.test}[{replicas}]")
            self._saver.save(report.result, report.verdict, saved, passed=passed)

    def overview(self, exit_status: int, arguments: Iterable[str]) -> SessionReport:
        """All that is known by now, for every writer; `exit_status` and `arguments` are pytest's."""
        commit, dirty = self._checkout
        sitting = Sitting(self._started, self._clock.now() - self._began, exit_status, tuple(arguments), commit, dirty)
        saved = [str(saved) for saved in self.saved]
        return session_report(sitting, self.config, self.cases, self.results, saved)

    def begin(self) -> None:
        """From here on there may be processes, a worktree and folders: signals end the session in order."""
        self._lifetime.begin()
        _ = self._checkout  # now, as a report at the end must not wait for git: whoever interrupts twice wants it soon

    def close(self) -> None:
        """End every process and remove every folder."""
        self._lifetime.close()

    def _pin_to(self, cores: Sequence[int]) -> None:
        self._cores = tuple(cores)
        self._runs.pin_to(self._cores)

    def _measured(self, spec: SweepSpec, replicas: int, workload: WorkloadDefinition) -> SweepResult:
        measured = self.results.sweeps
        if spec.test not in measured:
            sweep = self._sweeps.get(spec.test) or Sweep(spec, (replicas,))
            self._judge.check(sweep, self._environment(spec.device))
            measured[spec.test] = self._measure(sweep, workload)
            self._unmeasured.discard(spec.test)
        result = measured[spec.test]
        error = result.error_of(replicas)
        if error is not None:
            raise error
        return result

    def _measure(self, sweep: Sweep, workload: WorkloadDefinition) -> SweepResult:
        """Measure a sweep until it is judged, beside the other revision where there is one."""
        spec = sweep.spec
        opponent = self._other.opponent(sweep) if self._other else None
        definition = held_definition(spec, self._cores)
        side = self._other.side(sweep, definition, opponent) if self._other and opponent else None

        def opposed(result: SweepResult) -> SweepResult:
            return replace(result, opponent=side.opponent if side else opponent)

        def settled(result: SweepResult, look: Look) -> Mapping[int, str]:
            return self._judge.settled(opposed(result), look)

        def unfinished(result: SweepResult) -> None:
            self.results.unfinished[spec.test] = opposed(result)

        pace = self._time.pace(spec, sweeps=len(self._unmeasured))
        where = self._environment(spec.device), _gpus(spec)
        return opposed(self._measurer.measure(sweep, workload, *where, pace, settled, side, unfinished=unfinished))

    def _stored(self, spec: SweepSpec, replicas: int) -> Stored:
        """What the baselines know of a count; nothing where they cannot be read, an error of its test alone."""
        try:
            environment = self._environment(spec.device)
            tolerance = self._judge.tolerance(spec, replicas, environment)
            definition = held_definition(spec, self._cores)
            return stored_of(self._store, environment, spec.baseline_name, replicas, definition, tolerance)
        except TfPerfError:
            return Stored(None, self.config.comparison.tolerance)

    def _environment(self, device: Device) -> Environment:
        if device not in self._environments:
            self._environments[device] = environments.read_environment(
                device, self.config.root, baselines=self.config.baselines
            )
        return self._environments[device]

    @cached_property
    def _date(self) -> str:
        """When this session first saved: one date for all its baselines, also of a test that some plugin runs again."""
        return _now()

    @cached_property
    def _checkout(self) -> tuple[str, bool]:
        """Commit of what was measured, and whether it has uncommitted changes: asked for once, as the date is."""
        return git_provenance(self.config.root, self.config.baselines)


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _gpus(spec: SweepSpec) -> list[str]:
    return [gpu.identifier for gpu in visible_gpus()] if spec.device == "gpu" else []
