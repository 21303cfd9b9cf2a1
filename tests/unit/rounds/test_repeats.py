"""How often a disturbed run is made again, and which attempt counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.records.arm import Arm, Recipe, SweepSpec
from pytest_tfperf.records.run import Run
from pytest_tfperf.runs import RunMeasurer
from pytest_tfperf.workloads.base import WorkloadDefinition
from tests.unit.fakes import Lines

HOT, CAPPED = "too hot", "power limit under its default"
SPEC = SweepSpec(
    test="test_a.py::test_a",
    workload="mlp",
    recipe=Recipe("multi_worker_mirrored"),
    reference=Recipe("single"),
    replicas=(2,),
    device="cpu",
    rounds=3,
)


class Scripted(RunMeasurer):
    """Attempts that were disturbed as scripted, undisturbed afterwards; each is faster than the one before it."""

    def __init__(self, config: PerfConfig, disturbances: Sequence[Sequence[str]]) -> None:
        self.progress = Lines()
        super().__init__(config, ClusterLauncher(), self.progress)
        self.script = list(disturbances)
        self.made = 0

    def _attempt(
        self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]
    ) -> tuple[Run, tuple[str, ...]]:
        self.made += 1
        seen = tuple(self.script.pop(0)) if self.script else ()
        lasting = tuple(line for line in seen if line == CAPPED)
        return Run(arm, number, float(self.made), 1.0, (), disturbances=seen), lasting

    def one(self, number: int = 1) -> Run:
        workload = WorkloadDefinition("mlp", lambda: None, {})
        return self.run(SPEC, SPEC.arm(2), workload, number, [])


@pytest.fixture
def config(tmp_path: Path) -> PerfConfig:
    return PerfConfig(root=tmp_path, baselines=tmp_path)


def test_an_undisturbed_run_is_made_once(config: PerfConfig) -> None:
    measurer = Scripted(config, [])
    assert measurer.one().attempts == 1
    assert (measurer.made, measurer.progress.lines) == (1, [])


def test_the_undisturbed_attempt_counts_and_the_others_are_told(config: PerfConfig) -> None:
    measurer = Scripted(config, [[HOT], [HOT, "swap"]])
    run = measurer.one()
    assert (run.throughput, run.disturbances, run.attempts) == (3.0, (), 3)
    assert run.discarded == ((HOT,), (HOT, "swap"))
    assert measurer.progress.lines[1] == "  T(2) again, it was disturbed: too hot; swap"


def test_the_last_attempt_is_kept_and_marked_where_all_were_disturbed(config: PerfConfig) -> None:
    measurer = Scripted(config, [[HOT]] * 9)
    run = measurer.one()
    assert measurer.made == 1 + config.measurement.max_repeats
    assert (run.throughput, run.disturbances, run.attempts) == (3.0, (HOT,), 3)


def test_a_sweep_has_as_many_repeats_as_rounds(config: PerfConfig) -> None:
    measurer = Scripted(config, [[HOT]] * 99)
    attempts = [measurer.one(number).attempts for number in (1, 2, 3)]
    assert attempts == [3, 2, 1]
    forced = Scripted(replace(config, forced_rounds=1), [[HOT]] * 99)
    assert [forced.one(number).attempts for number in (1, 2)] == [2, 1]


def test_what_would_come_again_is_not_waited_for(config: PerfConfig) -> None:
    measurer = Scripted(config, [[CAPPED]] * 9)
    run = measurer.one()
    assert (run.attempts, run.disturbances) == (1, (CAPPED,))
    both = Scripted(config, [[CAPPED, HOT], [CAPPED]])
    assert both.one().attempts == 2


def test_a_smoke_run_repeats_nothing(config: PerfConfig) -> None:
    measurer = Scripted(replace(config, smoke="benchmarks are off"), [[HOT]] * 9)
    assert measurer.one().attempts == 1
