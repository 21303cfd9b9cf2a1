"""A fault in a task of a real measurement is one error that says what, where and when; and nothing is left of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.config import MeasurementPolicy
from pytest_tfperf.errors import ClusterError, ClusterTimeoutError
from pytest_tfperf.measurement.job import Job
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.workloads import registry as workloads
from tests.cluster.processes import is_gone, poll
from tests.faults.tasks.injection import faulty, measure_with_fault
from tests.faults.tasks.matrix import HAS, OUTCOMES, PHASES, Case, cover, layout_of, product, replicas_of
from tests.faults.tasks.strikes import RESULTS, STRIKES, Plan, pids_in

POLICY = MeasurementPolicy(window_seconds=0.02, windows=4, warmup_min_steps=4, warmup_max_seconds=20)
SAID = {
    "setup": {"running", "build", "connecting", "building", "initialising", "waiting for worker:0 to initialise"},
    "warm-up": {"warm-up"},
    "timed": {"timed windows"},
    "teardown": {"count updates"},
}
"""What a task that trains may say that it does in each part."""
AT_THE_END = {"count updates", "own pace"}
DEADLINES = (4.0, 16.0, 64.0, 256.0)
"""Seconds for faults that only a deadline ends: the first that is long enough for the fault to come up at all."""
NO_DEADLINE = (300.0,)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        every = metafunc.config.getoption("every_fault", default=False)
        cases = product() if every else cover(product())
        metafunc.parametrize("case", cases, ids=[case.label for case in cases])


def test_a_fault_is_one_clear_error(case: Case, launcher: ClusterLauncher, tmp_path: Path) -> None:
    error, plan = _error_of(case, launcher, tmp_path)
    kind, words = OUTCOMES[case.fault]
    text, headline = str(error), str(error).splitlines()[0]
    assert type(error) is kind, text
    assert words in headline, text
    assert str(case.victim) in headline, text
    # The other tasks' states are told, and where all of them were.
    states = {state.task: state for state in error.tasks}
    assert set(states) == set(_tasks(case))
    for state in error.tasks:
        assert f"\n  {state.task}: {state.state}, last phase: {state.phase}" in text
    phase = states[str(case.victim)].phase
    assert phase in _phases(case), text
    if case.fault not in RESULTS:
        assert f"in phase '{phase}'" in headline, text
    if case.serves and case.phase != "setup":
        trains = "chief:0" if "chief:0" in states else "worker:0"
        # Where the fault may be another's effect, the others go on for a moment.
        later = PHASES[PHASES.index(case.phase) :]
        assert states[trains].phase in AT_THE_END.union(*(SAID[part] for part in later)), text
    # The end of its log.
    assert (
        HAS.get(case.fault, f"last words of {case.victim}") in states[str(case.victim)].log_tail
        or case.fault in RESULTS
    ), text
    assert len(text) < 100_000
    if plan.children.exists():
        for pid in pids_in(plan.children):
            poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]
    assert plan.children.exists() == (case.fault == "forks children")


def _error_of(case: Case, launcher: ClusterLauncher, folder: Path) -> tuple[ClusterError, Plan]:
    """What comes of it once it has come up; every process is gone then."""
    chosen = strategies.get(case.strategy)
    job = Job(
        workload=faulty,
        params=workloads.resolve_params(faulty, {}),
        strategy=case.strategy,
        options=strategies.resolve_options(chosen, {}),
        device="cpu",
        replicas=replicas_of(case.strategy),
        policy=POLICY,
    )
    for plan, seconds in _attempts(case, folder):
        cluster = launcher.start(placements(layout_of(case.strategy)))
        pids = list(cluster.pids.values())
        with pytest.raises(ClusterError) as caught:
            cluster.run(measure_with_fault, job, plan, timeout=seconds)
        assert cluster.closed
        for pid in pids:
            poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]
        if plan.struck.exists() or type(caught.value) is not ClusterTimeoutError:
            break
    assert plan.struck.exists(), str(caught.value)
    return caught.value, plan


def _attempts(case: Case, folder: Path) -> Iterator[tuple[Plan, float]]:
    for seconds in DEADLINES if OUTCOMES[case.fault][0] is ClusterTimeoutError else NO_DEADLINE:
        own = folder / f"{seconds:g}"
        own.mkdir()
        yield Plan(case.fault, case.phase, case.victim, own), seconds


def _tasks(case: Case) -> list[str]:
    return [str(placement.id) for placement in placements(layout_of(case.strategy))]


def _phases(case: Case) -> set[str]:
    if case.fault in RESULTS:
        return AT_THE_END
    return {"serving"} if case.serves and case.phase != "setup" else SAID[case.phase]


def test_everything_comes_up_in_the_part_that_always_runs() -> None:
    every, part = product(), cover(product())
    assert set(part) <= set(every)
    assert len(part) < len(every) / 4
    assert {case.strategy for case in part} == set(strategies.names())
    pairs: dict[str, set[Any]] = {
        "fault and phase": {(case.fault, case.phase) for case in every},
        "phase and strategy": {(case.phase, case.strategy) for case in every},
    }
    assert pairs["fault and phase"] == {(case.fault, case.phase) for case in part}
    assert pairs["phase and strategy"] == {(case.phase, case.strategy) for case in part}
    for phase in PHASES:
        assert any(case.serves and case.fault == "SIGKILL" for case in part if case.phase == phase)
    assert set(OUTCOMES) == set(STRIKES) == {case.fault for case in part}
    for case in every:
        assert re.fullmatch(r"(chief|worker|ps):\d", str(case.victim))
