"""Sessions whose runs are made up: deterministic and log-normal, so that all that they cost is the plugin's own."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from pytest_tfperf.baseline.entry import entry_of
from pytest_tfperf.baseline.store import BaselineStore
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.marker import sweep_spec
from pytest_tfperf.measurement.environment import read_environment
from pytest_tfperf.plan import cores_per_rank
from pytest_tfperf.records.arm import Arm, SweepSpec
from pytest_tfperf.records.baseline import Provenance
from pytest_tfperf.records.environment import Environment
from pytest_tfperf.records.run import Run, TaskRun, Window
from pytest_tfperf.records.sweep import PairedRuns
from pytest_tfperf.records.task import TaskId
from pytest_tfperf.workloads.base import WorkloadDefinition

COUNTS = (1, 2, 4, 8)
SESSIONS = 5
ROUNDS_SAVED = 10
SPREAD = 0.02
"""Enough noise for a good part of the arms to need more than the first look."""
WINDOWS = 5


class CannedRuns:
    """Makes runs up, and swallows what a session has to say of its progress."""

    def __init__(self, spread: float = SPREAD) -> None:
        """`spread`: standard deviation of the log of a run's throughput."""
        self._spread = spread

    def run(self, spec: SweepSpec, arm: Arm, workload: WorkloadDefinition, number: int, gpus: Sequence[str]) -> Run:
        noise = random.Random(f"{spec.test} {arm.label} {number}").lognormvariate(0.0, self._spread)
        throughput = speed(arm) * noise
        return Run(arm, number, throughput, 128 * arm.replicas / throughput, _tasks(arm.replicas, number))

    def status(self, text: str) -> None:
        pass

    def line(self, text: str) -> None:
        pass


@cache  # the same for all sweeps: made once, they are no part of what is measured
def _tasks(replicas: int, number: int) -> tuple[TaskRun, ...]:
    noise = random.Random(f"{replicas} {number}")
    windows = tuple(Window(0.4 * index, 0.4 * (index + 1), 3) for index in range(WINDOWS))
    return tuple(
        TaskRun(
            task=TaskId("worker", index),
            examples_per_step=128,
            replicas=1,
            warmup=(0.5, 0.128, 0.128),
            steady=True,
            windows=windows,
            steps=18,
            updates=18,
            updates_are_global=False,
            losses=(0.5,) * WINDOWS,
            synchronous=True,
            own_step_time=0.128 * noise.lognormvariate(0.0, SPREAD),
        )
        for index in range(replicas)
    )


def speed(arm: Arm) -> float:
    """Examples per second of an arm without noise."""
    return 1000.0 * float(arm.replicas**0.9)


def canned_specs(arms: int) -> list[tuple[SweepSpec, int]]:
    """So many arms in sweeps of four, made from markers as pytest's collection makes them: one for each item."""
    return [(spec, count) for name, counts in _sweeps(arms) for spec, count in _items(name, counts)]


def _sweeps(arms: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for start in range(0, arms, len(COUNTS)):
        yield f"canned{start // len(COUNTS)}", COUNTS[: arms - start]


def _items(name: str, counts: tuple[int, ...]) -> Iterator[tuple[SweepSpec, int]]:
    marker = pytest.mark.tfperf(
        "mlp", strategy="multi_worker_mirrored", replicas=counts, variant=name, min_efficiency=0.5
    ).mark
    for count in counts:
        yield sweep_spec(marker, f"perf_tests/test_canned.py::test_{name}", "cpu"), count


def store_baselines(config: PerfConfig, arms: int, spread: float = SPREAD) -> Environment:
    """Store five sessions of every arm, days apart and each a little faster or slower; give where they are as from."""
    environment = read_environment("cpu", config.root, baselines=config.baselines)
    store = BaselineStore(config.baselines)
    cores = sorted(os.sched_getaffinity(0))
    for name, counts in _sweeps(arms):
        spec = next(_items(name, counts))[0]
        definition = {**spec.definition, "cores_per_rank": cores_per_rank(spec, cores)}
        days = [_day(spec, counts, day, spread) for day in range(SESSIONS)]
        entries = []
        for count in counts:
            sessions = [
                entry_of(
                    *(spec, count, runs[count], provenance),
                    definition=definition,
                    hard=environment.hard,
                    soft=environment.soft,
                )
                for provenance, runs in days
            ]
            entries.append(replace(sessions[0], sessions=tuple(entry.sessions[0] for entry in sessions)))
        store.save(entries)
    return environment


def _day(spec: SweepSpec, counts: Sequence[int], day: int, spread: float) -> tuple[Provenance, dict[int, PairedRuns]]:
    noise = random.Random(f"{spec.test} {day}")
    today = noise.lognormvariate(0.0, spread / 4)

    def series(arm: Arm) -> tuple[float, ...]:
        return tuple(today * speed(arm) * noise.lognormvariate(0.0, spread) for _ in range(ROUNDS_SAVED))

    reference = series(spec.reference_arm)
    runs = {}
    for count in counts:
        own = series(spec.arm(count))
        runs[count] = PairedRuns(
            reference=reference,
            reference_step_time=tuple(128 / value for value in reference),
            throughput=own,
            step_time=tuple(128 * count / value for value in own),
        )
    return Provenance(f"2026-01-{day + 1:02}T01:00:00Z", "a1b2c3d4" * 5, False, spec.test), runs
