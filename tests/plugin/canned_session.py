"""A pytest plugin: sessions are whole but for their runs, which are made up after the names of the tests.

Saving, every test is as fast as every other. A gate's runs are such that each of the tests of `SUITE` gets the verdict
that it is named after.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

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


def run_canned(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a real pytest in this folder, with made up runs and on a machine without GPUs."""
    root = Path(__file__).parents[2]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTEST_"))}
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugin.canned_session", "--rootdir", str(folder), *args]
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "", **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def save_baselines(folder: Path, *names: str) -> None:
    """Store what a gate of these tests is held against."""
    (folder / "test_suite.py").write_text(suite(*names, saving=True))
    done = run_canned(folder, "--tfperf-save", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "test_suite.py").write_text(suite(*names))


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
    """Only where this module is asked for as a plugin, in a process of its own: tests import it too."""
    plugin.PerfSession = _session  # type: ignore[assignment, misc]
    ClusterLauncher.warm_up = lambda self: None  # type: ignore[method-assign]
