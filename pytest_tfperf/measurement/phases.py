"""Where the time from asking for a run to its first timed step goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_tfperf.measurement.clock import Clock
from pytest_tfperf.records.task import Task, TaskId

_CLUSTER = ("connecting", "initialising", "waiting for")
"""What a strategy says it does, in its first words, while it starts servers, connects to others or waits for them."""


class Phases:
    """Adds up the seconds of each phase of one task.

    - ``process``: from asking for the run's processes until the task's function is entered;
    - ``cluster``: starting its server, connecting and waiting for other tasks;
    - ``build``: claiming the device, and making the model, its variables and its inputs (old-style: the whole graph);
    - ``trace``: turning the step from Python into graphs;
    - ``compile``: the first step, which compiles what it runs, XLA's programs included (``trace and compile`` where the
      first step traces too);
    - ``warm-up``: all other steps before the timed windows.
    """

    def __init__(self, clock: Clock, asked: float | None) -> None:
        self._clock = clock
        self._began = clock.now()
        self._phase = "build"
        self._seconds: dict[str, float] = {}
        if asked is not None:
            self._seconds["process"] = self._began - asked

    def begin(self, phase: str) -> None:
        """End the phase before, and begin this one, or go on with it."""
        self.end()
        self._phase = phase

    def end(self) -> None:
        now = self._clock.now()
        self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._began
        self._began = now

    def complete(self, compiling: str, first_step: float, timed: float) -> Mapping[str, float]:
        """All phases in their order.

        Args:
            compiling: what the first step's phase is called.
            first_step: its seconds, from the last `end` on.
            timed: when the timed windows began.
        """
        if compiling != "compile":
            self._seconds[compiling] = self._seconds.pop("trace", 0.0)
        found = {**self._seconds, compiling: self._seconds.get(compiling, 0.0) + first_step}
        found["warm-up"] = timed - self._began - first_step
        order = ("process", "cluster", "build", "trace", "compile", "trace and compile", "warm-up")
        return {phase: found[phase] for phase in order if phase in found}


class TaskInPhases:
    """A task that also notes when it connects and when it builds, as its strategy says."""

    def __init__(self, task: Task, phases: Phases) -> None:
        self._task = task
        self._phases = phases

    def __getattr__(self, name: str) -> object:
        return getattr(self._task, name)

    def phase(self, name: str) -> None:
        self._task.phase(name)
        self._phases.begin("cluster" if name.startswith(_CLUSTER) else "build")

    def exchange(self, name: str, value: object, among: Sequence[TaskId]) -> dict[TaskId, object]:
        """Waiting for others is the cluster's time."""
        self._phases.begin("cluster")
        return self._task.exchange(name, value, among)
