"""Compiled programs that somebody damages within a session: a run compiles anew, and no wrong program runs."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import MeasurementPolicy, PerfConfig
from pytest_tfperf.errors import TaskFailedError
from pytest_tfperf.records.arm import Recipe, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.runs import RunMeasurer
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads
from tests.cluster.processes import workers
from tests.unit.fakes import Lines

WORKLOAD = workloads.get("smallconv")
PARAMS = workloads.resolve_params(WORKLOAD, {"xla": True, "batch_size": 2, "width": 4, "image_size": 16})
RECIPE = Recipe("single", strategies.get("single").options, PARAMS)
SPEC = SweepSpec("t.py::t", "smallconv", RECIPE, RECIPE, (1,), "cpu")
POLICY = MeasurementPolicy(window_seconds=0.02, windows=1)
AFRESH = re.compile(
    r"failed where compiled programs are used again \(worker:0 .*\), so every run compiles from here on"
)


@pytest.fixture(scope="module")
def launcher() -> Iterator[ClusterLauncher]:
    with ClusterLauncher() as launcher:
        yield launcher


def cache(launcher: ClusterLauncher) -> Path:
    assert launcher.run_dir is not None
    return launcher.run_dir / "compile-cache"


def programs(launcher: ClusterLauncher) -> list[Path]:
    return sorted((cache(launcher) / "programs").glob("*.pb"))


def measured(launcher: ClusterLauncher) -> tuple[Run, list[str]]:
    """A run of a session that uses compiled programs again, and what it said."""
    progress = Lines()
    measurer = RunMeasurer(PerfConfig(root=Path(), baselines=Path(), measurement=POLICY), launcher, progress)
    try:
        run = measurer.run(SPEC, SPEC.reference_arm, WORKLOAD, 1, ())
    finally:
        measurer.close()
    assert all(task.updates == task.steps for task in run.tasks)
    assert all(math.isfinite(loss) for task in run.tasks for loss in task.losses)
    return run, progress.lines


@pytest.fixture(scope="module")
def kept(launcher: ClusterLauncher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a first run has compiled."""
    measured(launcher)
    assert programs(launcher)
    return shutil.copytree(cache(launcher), tmp_path_factory.mktemp("kept") / "cache")


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _other_bytes(path: Path) -> None:
    path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))


@pytest.mark.parametrize("damage", [_half, _other_bytes])
def test_a_run_whose_compiled_programs_are_damaged(
    launcher: ClusterLauncher, kept: Path, damage: Callable[[Path], None]
) -> None:
    """It fails, and is made again without them; the session says so."""
    shutil.copytree(kept, cache(launcher), dirs_exist_ok=True)
    for path in programs(launcher):
        damage(path)
    _, said = measured(launcher)
    assert any(AFRESH.search(line) for line in said), said


def test_a_folder_of_programs_that_is_gone(launcher: ClusterLauncher, kept: Path) -> None:
    """As what clears the folder for temporary files may do."""
    shutil.rmtree(cache(launcher))
    _, said = measured(launcher)
    assert not any(AFRESH.search(line) for line in said), said


def test_one_program_in_the_place_of_another(launcher: ClusterLauncher, kept: Path) -> None:
    """XLA does not run it for that: an error, after which a session compiles anew."""

    def computed(task: Any, times: float) -> float:
        import tensorflow as tf

        value = tf.constant(5.0)
        return float(tf.function(lambda x: x * times + 1.0, jit_compile=True, autograph=False)(value))

    def compute(times: float) -> float:
        with launcher.start(workers(1), compile_cache=True) as cluster:
            return float(cluster.run(computed, times, timeout=120)["worker:0"])

    def compiled(times: float) -> Path:
        before = set(programs(launcher))
        assert compute(times) == 5 * times + 1
        (path,) = set(programs(launcher)) - before
        return path

    shutil.rmtree(cache(launcher))
    shutil.copytree(kept, cache(launcher))
    twice, thrice = compiled(2.0), compiled(3.0)
    shutil.copy(thrice, twice)
    with pytest.raises(TaskFailedError, match="cache key does not match"):
        compute(2.0)
