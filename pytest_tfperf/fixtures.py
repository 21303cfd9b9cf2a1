"""The fixtures `tfperf` and `tf_cluster`, and the bridge to pytest-benchmark."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_tfperf.cluster import Cluster, placements, set_logical_cpu_devices, start_in_process
from pytest_tfperf.errors import RegressionFailure, UsageError
from pytest_tfperf.measurement.clock import StepClock
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.records.arm import SweepSpec
from pytest_tfperf.records.comparison import ArmVerdict
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.records.run import Run
from pytest_tfperf.records.task import Layout
from pytest_tfperf.report.junit import PREFIX, Property, identity_properties, judgement_properties
from pytest_tfperf.report.text import failure_text
from pytest_tfperf.session import PerfSession
from pytest_tfperf.telling import ArmReport
from pytest_tfperf.workloads.base import WorkloadDefinition

SESSION = pytest.StashKey[PerfSession]()
ARM = pytest.StashKey[tuple[SweepSpec, int, WorkloadDefinition]]()
CLOCK = pytest.StashKey[StepClock]()

Notebook = Callable[[ArmReport], None]


class Measured:
    """What the fixture `tfperf` gives: the figures of one arm, and `check()`."""

    def __init__(self, report: ArmReport, session: PerfSession) -> None:
        self._report = report
        self._session = session

    @property
    def replicas(self) -> int:
        return self.verdict.arm.replicas

    @property
    def throughput(self) -> float:
        """Examples per second of the whole job: the geometric mean over the runs."""
        return self._report.verdict.figures.throughput.value

    @property
    def throughput_interval(self) -> tuple[float, float]:
        """95 % interval of `throughput`."""
        return _interval(self._report.verdict.figures.throughput)

    @property
    def efficiency(self) -> float:
        """E(N) = T(N) / (N x T(1)), paired within each round: 1.0 is perfect weak scaling."""
        return self._report.verdict.figures.efficiency.value

    @property
    def efficiency_interval(self) -> tuple[float, float]:
        """95 % interval of `efficiency`."""
        return _interval(self._report.verdict.figures.efficiency)

    @property
    def step_time(self) -> float:
        """Seconds that one replica needs for a step."""
        return self._report.verdict.figures.step_time.value

    @property
    def step_time_interval(self) -> tuple[float, float]:
        """95 % interval of `step_time`."""
        return _interval(self._report.verdict.figures.step_time)

    @property
    def reference_throughput(self) -> float:
        """T(1) in examples per second."""
        return self._report.verdict.figures.reference.value

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run of this arm, one per round."""
        return self._report.result.results[self._report.result.arm_of(self.replicas)].runs

    @property
    def verdict(self) -> ArmVerdict:
        return self._report.verdict

    def check(self) -> None:
        """Fail the test where E(N) is under its floor or a figure regressed against the baseline.

        Raises:
            RegressionFailure: an AssertionError with the table of what was expected and what was measured.
        """
        __tracebackhide__ = True
        if self._session.fails(self.verdict):
            raise RegressionFailure(failure_text(self._report.view), self._report.view)


def _interval(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


@pytest.fixture
def tfperf_replicas() -> int:
    """Replica count of the item; the tfperf marker sets it, so this body only runs where there is no marker."""
    raise UsageError(
        "the fixture 'tfperf' needs a marker on its test function that says what to measure, for instance "
        '@pytest.mark.tfperf("mlp", strategy="single")'
    )


@pytest.fixture
def tfperf(request: pytest.FixtureRequest, tfperf_replicas: int, tfperf_notebook: Notebook) -> Measured:
    """The measured result of this test's arm; measures the whole sweep the first time one of its arms is asked for."""
    if hasattr(request.config, "workerinput"):
        raise UsageError(
            "tfperf does not measure in a pytest-xdist worker: tests running at the same time would slow each "
            "other down; run the perf tests in a pytest of their own without -n"
        )
    session = request.config.stash[SESSION]
    spec, replicas, workload = request.node.stash[ARM]
    identity = identity_properties(spec.workload, spec.strategy, replicas, spec.device, spec.variant)
    _set_properties(request.node, identity)
    report = session.report(spec, replicas, workload, request.node.nodeid)
    _set_properties(request.node, identity + judgement_properties(report.judgement, report.result.environment.name))
    tfperf_notebook(report)
    return Measured(report, session)


def _set_properties(item: pytest.Item, properties: tuple[Property, ...]) -> None:
    """For the JUnit file and other plugins; a test that is run once more has them once."""
    others = [given for given in item.user_properties if not str(given[0]).startswith(PREFIX)]
    item.user_properties[:] = [*others, *properties]


class WithoutBenchmark:
    """Registered where pytest-benchmark is not: nothing to write into."""

    @pytest.fixture
    def tfperf_notebook(self) -> Notebook:
        return lambda report: None


class WithBenchmark:
    """Registered beside pytest-benchmark: every arm's step time goes into its table and its JSON."""

    def __init__(self) -> None:
        self._references: set[str] = set()

    @pytest.fixture
    def tfperf_notebook(self, request: pytest.FixtureRequest, benchmark: Any) -> Notebook:
        """Takes an arm's report and replays its step times, one per run, for the `benchmark` fixture to see.

        A reference that is no item of its own gets an entry too, with the first arm of its sweep.
        """
        # Where the arm cannot be measured there is nothing to see, and no warning that nothing was seen.
        benchmark.skipped = True

        def write(report: ArmReport) -> None:
            benchmark.skipped = False
            clock = request.node.stash[CLOCK]
            spec, result = report.result.sweep.spec, report.result
            if spec.test not in self._references and not result.sweep.is_own_reference(report.verdict.arm.replicas):
                self._references.add(spec.test)
                # A fixture object serves one measurement, so the reference gets a copy before the first use.
                reference = copy.copy(benchmark)
                label = _reference_label(spec)
                reference.name = f"{request.node.originalname}[{label}]"
                reference.fullname = f"{spec.test}[{label}]"
                reference.param, reference.params, reference.extra_info = label, None, {}
                _replay(reference, clock, result.results[spec.reference_arm].step_times)
                reference.extra_info.update(workload=spec.workload, strategy=spec.reference.strategy, replicas=1)
            _replay(benchmark, clock, result.results[result.arm_of(report.verdict.arm.replicas)].step_times)
            benchmark.extra_info.update(_extra_info(report))

        return write


def _reference_label(spec: SweepSpec) -> str:
    """With the options that tell it from an arm of one replica, where that has the same strategy."""
    apart = spec.reference_options if spec.reference.strategy == spec.strategy else {}
    return " ".join([f"T(1) {spec.reference.strategy}", *(f"{name}={value}" for name, value in apart.items())])


def _replay(benchmark: Any, clock: StepClock, step_times: tuple[float, ...]) -> None:
    clock.load(step_times)
    benchmark.pedantic(clock.advance, rounds=len(step_times), iterations=1)


def _extra_info(report: ArmReport) -> dict[str, object]:
    arm, figures = report.verdict.arm, report.verdict.figures
    return {
        "workload": arm.workload,
        "strategy": arm.strategy,
        "replicas": arm.replicas,
        "throughput_examples_per_second": figures.throughput.value,
        "efficiency": figures.efficiency.value,
        "verdict": str(report.verdict.verdict),
    }


@pytest.fixture
def tf_cluster(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """Start clusters: `cluster = tf_cluster(workers=4, ps=1)`, then `cluster.run(function)`.

    Args of the function it gives:
        workers, ps, chief: how many tasks of each type (chief: True or False).
        devices_per_task: devices of each worker: GPUs in a test marked `gpu`, logical CPU devices otherwise.
        backend: ``multi_process``, one process per task; or ``in_process``, every task's server in the pytest
            process itself: for plumbing that talks to `cluster.target`, never for speed.
        timeout: seconds until the tasks must be up.

    Every cluster is stopped when the test ends, whatever its outcome.
    """
    session = request.config.stash[SESSION]
    on_gpu = request.node.get_closest_marker("gpu") or request.node.get_closest_marker("multi_gpu")
    with ExitStack() as stack:

        def start(
            workers: int = 1,
            ps: int = 0,
            *,
            chief: bool = False,
            devices_per_task: int = 1,
            backend: str = "multi_process",
            timeout: float = 60.0,
        ) -> Cluster:
            layout = Layout(workers, ps, chief, devices_per_task)
            gpus = [gpu.identifier for gpu in visible_gpus()] if on_gpu else []
            tasks = placements(layout, gpus=gpus)
            if backend == "multi_process":
                cluster: Cluster = stack.enter_context(session.launcher.start(tasks, start_timeout=timeout))
                if devices_per_task > 1 and not on_gpu:
                    cluster.run(set_logical_cpu_devices, devices_per_task, timeout=timeout)
            elif backend == "in_process":
                cluster = stack.enter_context(start_in_process(tasks, devices_per_task=devices_per_task))
            else:
                raise UsageError(f"tf_cluster: backend is 'multi_process' or 'in_process', not {backend!r}")
            return cluster

        yield start


__all__ = ["ARM", "CLOCK", "SESSION", "Measured", "WithBenchmark", "WithoutBenchmark"]
