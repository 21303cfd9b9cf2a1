"""Composes the rooms: plan -> measure -> compare -> report. One per pytest session; knows no pytest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from pytest_tfperf.baseline.schema import Limits
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.comparison.effect import efficiencies
from pytest_tfperf.comparison.judge import Floor, judge_arm
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.diagnosis.ablation import what_difference_costs
from pytest_tfperf.diagnosis.details import fact_lines, link_lines, step_lines
from pytest_tfperf.errors import BaselineError, MeasurementError
from pytest_tfperf.measurement import environment as environments
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.measurement.provenance import git_provenance
from pytest_tfperf.plan import plan_sweeps
from pytest_tfperf.records.arm import Device, Sweep, SweepSpec
from pytest_tfperf.records.baseline import BaselineEntry, Provenance
from pytest_tfperf.records.comparison import ArmVerdict, Verdict
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.sweep import SweepResult
from pytest_tfperf.report.view import ArmView, arm_view
from pytest_tfperf.rounds import Progress, SweepMeasurer
from pytest_tfperf.stats.summary import coefficient_of_variation
from pytest_tfperf.units import format_percent, plural
from pytest_tfperf.workloads.base import WorkloadDefinition

_MIN_ROUNDS_TO_SAVE = 3


@dataclass(frozen=True)
class ArmReport:
    """One arm's measurement, the decision about it, and how it is told."""

    result: SweepResult
    verdict: ArmVerdict
    view: ArmView


class PerfSession:
    """Measures each sweep once, judges its arms, and saves those that are to be saved."""

    def __init__(self, config: PerfConfig, progress: Progress) -> None:
        self.config = config
        self.saved: list[str] = []
        """Lines about the baselines written so far, for the summary."""
        self._progress = progress
        self._store = BaselineStore(config.baselines)
        self._launcher = ClusterLauncher(launcher=config.launcher, keep_logs=config.keep_logs)
        self._measurer = SweepMeasurer(config, self._launcher, progress)
        self._sweeps: Mapping[str, Sweep] = {}
        self._results: dict[str, SweepResult] = {}
        self._reports: dict[tuple[str, int], ArmReport] = {}
        self._environments: dict[Device, Environment] = {}

    @property
    def launcher(self) -> ClusterLauncher:
        return self._launcher

    @property
    def views(self) -> tuple[ArmView, ...]:
        """Every arm reported so far, in the order of measurement."""
        return tuple(report.view for report in self._reports.values())

    def plan(self, selected: Iterable[tuple[SweepSpec, int]]) -> None:
        """Take the selected tests and replica counts; raises UsageError where two would share a baseline."""
        self._sweeps = plan_sweeps(selected)

    def report(self, spec: SweepSpec, replicas: int, workload: WorkloadDefinition, nodeid: str) -> ArmReport:
        """Measure the sweep if it has not been, and judge the arm; `nodeid` is what reruns it.

        Raises:
            TfPerfError: the arm could not be measured; the same error each time it is asked for.
        """
        key = (spec.test, replicas)
        if key not in self._reports:
            result = self._measured(spec, replicas, workload)
            self._reports[key] = self._judge(result, replicas, nodeid)
        return self._reports[key]

    def fails(self, verdict: ArmVerdict) -> bool:
        """Whether a verdict fails the test under this session's settings."""
        if self.config.require_baseline and not verdict.metrics:
            return True
        if self.config.save:
            # What is about to replace the baseline is not held against it; a floor still counts.
            return verdict.under_floor
        return verdict.verdict is Verdict.REGRESSED

    def save(self, spec: SweepSpec, replicas: int, *, passed: bool) -> None:
        """Write the arm's baseline; `passed` is the outcome of its test.

        Raises:
            BaselineError: it is not fit to be one, or cannot be written. Who asked to save must not be left to think
                that it was.
        """
        report = self._reports.get((spec.test, replicas))
        if report is None:
            return
        name = f"{spec.test}[{replicas}]"
        refusal = self._refusal(report, replicas) if passed else "its test failed"
        if refusal and not (self.config.force_save and not self.config.smoke):
            raise BaselineError(f"{name} was not saved: {refusal}")
        self.saved += [f"{name}: {file}" for file in self._store.save([self._entry(report, replicas)])]

    def close(self) -> None:
        self._launcher.close()

    def _measured(self, spec: SweepSpec, replicas: int, workload: WorkloadDefinition) -> SweepResult:
        if spec.test not in self._results:
            sweep = self._sweeps.get(spec.test) or Sweep(spec, (replicas,))
            gpus = [gpu.identifier for gpu in visible_gpus()] if spec.device == "gpu" else []
            self._results[spec.test] = self._measurer.measure(sweep, workload, self._environment(spec.device), gpus)
        result = self._results[spec.test]
        error = result.error_of(replicas)
        if error is not None:
            raise error
        if not result.paired(replicas).throughput:
            raise MeasurementError(f"{spec.test}[{replicas}]: no round measured both this arm and its reference")
        return result

    def _environment(self, device: Device) -> Environment:
        if device not in self._environments:
            self._environments[device] = environments.read_environment(
                device, self.config.root, baselines=self.config.baselines
            )
        return self._environments[device]

    def _judge(self, result: SweepResult, replicas: int, nodeid: str) -> ArmReport:
        spec, runs = result.sweep.spec, result.paired(replicas)
        baseline = self._store.find(result.environment, spec.baseline_name, replicas)
        limits = self._store.limits(result.environment, spec.baseline_name, replicas)
        verdict = judge_arm(
            result.arm_of(replicas),
            runs,
            definition=result.definition,
            baseline=baseline,
            missing="" if baseline else self._why_missing(result.environment, spec, replicas),
            floors=self._floors(limits, spec, replicas),
            tolerance=self._tolerance(limits, spec, replicas),
            policy=self.config.comparison,
            versus=spec.against,
            own_reference=result.sweep.is_own_reference(replicas),
            smoke=self.config.smoke,
        )
        changes = environments.changed(baseline.environment.soft, result.environment.soft) if baseline else ()
        view = arm_view(
            verdict,
            environment=result.environment,
            soft_changes=changes,
            warnings=result.warnings_of(replicas),
            details=_details(result, verdict),
            rounds=result.rounds,
            seconds=result.seconds,
            command=f'pytest "{nodeid}" --tfperf-rounds {2 * result.rounds}',
        )
        return ArmReport(result, verdict, view)

    def _why_missing(self, environment: Environment, spec: SweepSpec, replicas: int) -> str:
        elsewhere = [name for name in self._store.environments(spec.baseline_name) if name != environment.name]
        text = f"no baseline of {spec.baseline_name} at {plural(replicas, 'replica')} for {environment.name}"
        if elsewhere:
            text += f" (there are some for: {', '.join(elsewhere)})"
        return f"{text}; --tfperf-save stores one"

    def _floors(self, limits: Limits, spec: SweepSpec, replicas: int) -> list[Floor]:
        floors = []
        if limits.floor is not None:
            floors.append(Floor("efficiency", limits.floor, "the baseline file"))
        elif replicas in spec.min_efficiency:
            floors.append(Floor("efficiency", spec.min_efficiency[replicas], "the test"))
        if replicas in spec.min_speedup:
            floors.append(Floor("speedup", spec.min_speedup[replicas], "the test"))
        return floors

    def _tolerance(self, limits: Limits, spec: SweepSpec, replicas: int) -> float:
        if limits.tolerance is not None:
            return limits.tolerance
        return spec.tolerance.get(replicas, self.config.comparison.tolerance)

    def _refusal(self, report: ArmReport, replicas: int) -> str:
        """Why an arm is not fit to be a baseline; empty where it is."""
        spec, runs = report.result.sweep.spec, report.result.paired(replicas)
        if self.config.smoke:
            return f"not measured in full: {self.config.smoke}"
        if len(runs.throughput) < _MIN_ROUNDS_TO_SAVE:
            return (
                f"{plural(len(runs.throughput), 'round')} do not show the noise; a baseline needs at least "
                f"{_MIN_ROUNDS_TO_SAVE}"
            )
        limits = self._store.limits(report.result.environment, spec.baseline_name, replicas)
        tolerance = self._tolerance(limits, spec, replicas)
        noise = {
            "T(1)": coefficient_of_variation(runs.reference),
            f"T({replicas})": coefficient_of_variation(runs.throughput),
            f"E({replicas})": coefficient_of_variation(efficiencies(runs.reference, runs.throughput, replicas)),
        }
        label, worst = max(noise.items(), key=lambda item: item[1])
        if worst > tolerance:
            return (
                f"too noisy: runs of {label} vary by {format_percent(worst)} (standard deviation), its tolerance is "
                f"{format_percent(tolerance)}; make the machine quieter or the tolerance wider"
            )
        return ""

    def _entry(self, report: ArmReport, replicas: int) -> BaselineEntry:
        spec, runs = report.result.sweep.spec, report.result.paired(replicas)
        commit, dirty = git_provenance(self.config.root, self.config.baselines)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return BaselineEntry(
            workload=spec.workload,
            strategy=spec.strategy,
            variant=spec.variant,
            replicas=replicas,
            definition=report.result.definition,
            environment=report.result.environment,
            reference_throughput=runs.reference,
            reference_step_time=runs.reference_step_time,
            throughput=runs.throughput,
            step_time=runs.step_time,
            provenance=Provenance(now, commit, dirty, f"{spec.test}[{replicas}]"),
        )


def _details(result: SweepResult, verdict: ArmVerdict) -> tuple[str, ...]:
    """Of the arm, and of what it is held against, as their last runs show them."""
    replicas, speedup = verdict.arm.replicas, verdict.figures.speedup
    versus = result.sweep.spec.versus_arm(replicas)
    lines = [what_difference_costs(speedup, verdict.versus)] if speedup else []
    for arm in (result.arm_of(replicas), *([versus] if versus else [])):
        run = result.results[arm].runs[-1]
        lines += [f"{arm.label}, {line}" for line in (*step_lines(run), *fact_lines(run), *link_lines(run))]
    return tuple(lines)
