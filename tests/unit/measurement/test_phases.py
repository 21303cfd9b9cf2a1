"""Time before the first timed step, by phase."""

from __future__ import annotations

from typing import cast

from pytest_tfperf.measurement.phases import Phases, TaskInPhases
from pytest_tfperf.records.task import Task, TaskId
from tests.unit.fakes import FakeClock


class FakeTask:
    id = TaskId("worker", 0)

    def __init__(self, clock: FakeClock) -> None:
        self.phases: list[str] = []
        self._clock = clock

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def exchange(self, name: str, value: object, among: object) -> dict[TaskId, object]:
        self._clock.sleep(2.0)
        return {self.id: value}


def test_every_second_is_in_one_phase() -> None:
    clock = FakeClock()
    phases = Phases(clock, asked=999.5)
    inner = FakeTask(clock)
    task = TaskInPhases(cast("Task", inner), phases)
    clock.sleep(1.0)  # claims a device
    task.phase("connecting")
    clock.sleep(3.0)
    task.phase("building")
    clock.sleep(4.0)
    assert task.exchange("variables initialised", 1, [inner.id]) == {inner.id: 1}
    phases.begin("trace")
    clock.sleep(5.0)
    phases.end()
    clock.sleep(6.0 + 7.0)  # the first step, and warm-up
    found = phases.complete("compile", 6.0, clock.now())
    assert found == {"process": 0.5, "cluster": 5.0, "build": 5.0, "trace": 5.0, "compile": 6.0, "warm-up": 7.0}
    assert list(found) == ["process", "cluster", "build", "trace", "compile", "warm-up"]
    assert sum(found.values()) == clock.now() - 999.5
    assert inner.phases == ["connecting", "building"]


def test_trace_and_compile_where_the_first_step_does_both() -> None:
    clock = FakeClock()
    phases = Phases(clock, asked=None)
    clock.sleep(1.0)
    phases.begin("trace")
    phases.end()
    clock.sleep(8.0 + 2.0)
    assert phases.complete("trace and compile", 8.0, clock.now()) == {
        "build": 1.0,
        "trace and compile": 8.0,
        "warm-up": 2.0,
    }
