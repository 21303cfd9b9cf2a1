"""Which fault is tried where: every one that there can be, and a part of them in which everything comes up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from pytest_tfperf.errors import ClusterError, ClusterTimeoutError, TaskDiedError, TaskFailedError
from pytest_tfperf.records.task import Layout, TaskId
from pytest_tfperf.strategies import registry as strategies
from tests.faults.tasks.strikes import RESULTS, STRIKES, Phase

PHASES: tuple[Phase, ...] = get_args(Phase)

OUTCOMES: dict[str, tuple[type[ClusterError], str]] = {
    "SIGKILL": (TaskDiedError, "killed by SIGKILL"),
    "SIGSEGV": (TaskDiedError, "killed by SIGSEGV"),
    "SIGSTOP": (ClusterTimeoutError, "stopped by a signal"),
    "exit code 0": (TaskDiedError, "exit code 0"),
    "exception": (TaskFailedError, "raised ValueError: the fault"),
    "out of memory": (TaskFailedError, "raised MemoryError"),
    "out of native memory": (TaskDiedError, "killed by SIGABRT"),
    "log of 1 GB": (TaskFailedError, "raised ValueError: the fault"),
    "result too large": (TaskFailedError, "its result, a bytes, takes more than 256 MiB"),
    "result not picklable": (TaskFailedError, "its result, a lock, cannot be pickled"),
    "stuck": (ClusterTimeoutError, "not finished within the deadline"),
    "never connects": (ClusterTimeoutError, "not finished within the deadline"),
    "ignores SIGTERM": (TaskFailedError, "raised ValueError: the fault"),
    "forks children": (TaskFailedError, "raised ValueError: the fault"),
}
"""The error of each fault, and what its first line says."""
HAS = {"SIGSEGV": "Segmentation fault", "out of native memory": "bad_alloc", "stuck": "stay_for_ever"}
"""What the end of the victim's log has, beside its last words, of faults that leave something there."""

OF_SERVERS = ("SIGKILL", "SIGSEGV", "SIGSTOP", "exit code 0", "exception", "out of memory", "out of native memory")
"""Faults of tasks that only serve: parameter servers, and the workers of a coordinator."""


@dataclass(frozen=True)
class Case:
    fault: str
    phase: Phase
    strategy: str
    victim: TaskId

    @property
    def serves(self) -> bool:
        return self.victim.type != strategies.get(self.strategy).measured_job

    @property
    def label(self) -> str:
        return f"{self.fault} {self.phase} {self.strategy} {self.victim}"

    @property
    def pairs(self) -> frozenset[tuple[object, ...]]:
        """What is to come up at least once. Of servers every fault, and death in every phase."""
        pairs: set[tuple[object, ...]] = {("phase and strategy", self.phase, self.strategy)}
        if not self.serves:
            pairs.add(("fault and phase", self.fault, self.phase))
        else:
            pairs |= {("fault of a server", self.fault), ("victim", self.strategy, self.victim.type)}
            if self.fault == "SIGKILL":
                pairs.add(("death of a server", self.phase))
        return frozenset(pairs)


def replicas_of(strategy: str) -> int:
    return 1 if strategy == "single" else 2


def layout_of(strategy: str) -> Layout:
    chosen = strategies.get(strategy)
    return chosen.layout(replicas_of(strategy), chosen.options)


def product() -> tuple[Case, ...]:
    """Every fault in every phase under every strategy, but for what cannot be.

    A result is given at the end only, and a worker that never connects does so at the beginning only.
    """
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    for strategy in strategies.names():
        layout = layout_of(strategy)
        trains = TaskId("chief", 0) if layout.chief else TaskId("worker", layout.workers - 1)
        serve = ([TaskId("ps", layout.ps - 1)] if layout.ps else []) + ([TaskId("worker", 1)] if layout.chief else [])
        for phase in PHASES:
            for fault in STRIKES:
                if phase == {"never connects": "setup", **dict.fromkeys(RESULTS, "teardown")}.get(fault, phase):
                    yield Case(fault, phase, strategy, trains)
            for victim in serve:
                for fault in OF_SERVERS:
                    yield Case(fault, phase, strategy, victim)


def cover(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Few of the cases in which every pair comes up that does in all of them, each fault under many strategies."""
    left = set().union(*(case.pairs for case in cases))
    under = {(case.fault, case.strategy) for case in cases}
    times = Counter[str]()

    def worth(case: Case) -> tuple[int, bool, int]:
        return len(case.pairs & left), (case.fault, case.strategy) in under, -times[case.strategy]

    chosen: list[Case] = []
    while left:
        best = max(cases, key=worth)
        chosen.append(best)
        left -= best.pairs
        under.discard((best.fault, best.strategy))
        times[best.strategy] += 1
    return tuple(chosen)
