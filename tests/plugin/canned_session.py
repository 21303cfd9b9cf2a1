"""A pytest plugin: sessions are whole but for their runs, which are made up after the names of the tests.

Saving, every test is as fast as every other. A gate's runs are such that each of the tests of `SUITE` gets the verdict
that it is named after.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import scipy.special
import scipy.stats

from benchmarks.canned import CannedRuns
from pytest_tfperf import plugin
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import TaskDiedError, TaskState
from pytest_tfperf.records.arm import Arm, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.runs import Progress
from pytest_tfperf.session import PerfSession
from pytest_tfperf.workloads.base import WorkloadDefinition

_LOADED = (scipy.special, scipy.stats)
"""Before the first pytest inside of this process, which forgets what it imported: NumPy cannot be loaded twice."""
QUICK = ("-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:hypothesispytest")
"""Without plugins that take seconds to load and play no part."""
FACTORS = {"improved": 1.3, "regressed": 0.7}
VERDICTS = ("improved", "unchanged", "regressed", "inconclusive", "no_baseline", "incomparable")
LOG = "::error::from a log\n::set-env name=X::y\n100 % <b> | @all #1"

_HEAD = "import pytest\n"
_TEST = """
{marks}@pytest.mark.tfperf(
    "mlp", strategy="multi_worker_mirrored", replicas=[2], variant="{name}", batch_size={batch}
)
def test_{name}(tfperf):
    tfperf.check()
"""


def suite(*names: str, saving: bool = False) -> str:
    """A test file; `incomparable` measures another batch than what is saved."""
    tests = [
        _TEST.format(
            name=name,
            marks="@pytest.mark.gpu\n" if name == "skipped" else "",
            batch=64 if name == "incomparable" and not saving else 128,
        )
        for name in names
    ]
    return _HEAD + "".join(tests)


class Canned:
    """Real pytests in a folder, inside of this process, with made up runs and on a machine without GPUs."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = pytester.path
        self._pytester = pytester
        monkeypatch.setattr(plugin, "PerfSession", _session)
        monkeypatch.setattr(ClusterLauncher, "warm_up", lambda self: None)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
            monkeypatch.delenv(name, raising=False)

    def gate(self, tests: str, *args: str) -> pytest.RunResult:
        (self.folder / "test_suite.py").write_text(tests)
        return self._pytester.runpytest_inprocess(*QUICK, *args)

    def save(self) -> None:
        """Store what the tests are held against that have a baseline."""
        names = (name for name in VERDICTS if name != "no_baseline")
        assert self.gate(suite(*names, saving=True), "--tfperf-save").ret == 0


class NamedRuns(CannedRuns):
    """Runs after the name of the test."""

    def __init__(self, saving: bool) -> None:
        super().__init__(spread=0.004)
        self._saving = saving

    def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        run = super().run(spec, arm, workload, number, gpus)
        name = spec.test.rpartition("::test_")[2]
        if self._saving:
            return run
        if name == "error":
            state = TaskState("worker:1", "killed by SIGKILL", "warm-up", LOG)
            raise TaskDiedError("worker:1 died (SIGKILL) before it gave its result", (state,))
        factor = FACTORS.get(name, 1.0)
        if name == "inconclusive":
            factor = random.Random(f"{arm.label} {number}").lognormvariate(0.0, 0.2)
        return replace(run, throughput=factor * run.throughput, step_time=run.step_time / factor)


def _session(config: PerfConfig, progress: Progress) -> PerfSession:
    return PerfSession(config, progress, NamedRuns(config.save))


def pytest_load_initial_conftests() -> None:
    """Where this module is a plugin of a pytest in a process of its own."""
    plugin.PerfSession = _session  # type: ignore[assignment, attr-defined]
    ClusterLauncher.warm_up = lambda self: None  # type: ignore[method-assign]
