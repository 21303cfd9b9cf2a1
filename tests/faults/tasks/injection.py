"""How a fault strikes at a chosen point of a real measurement."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from pytest_tfperf import workload
from pytest_tfperf.measurement.job import Job, measure
from pytest_tfperf.measurement.loop import Loop
from pytest_tfperf.records.run import Window
from pytest_tfperf.strategies import registry as strategies
from tests.faults.tasks.strikes import RESULTS, STRIKES, Plan, wait_until

_SAID = {"warm-up": "warm-up", "timed windows": "timed", "count updates": "teardown"}
"""The part of a measurement that begins where a task says so."""


class Armed:
    """The task of a measurement with a fault in it; it notes what the measurement says that it does."""

    def __init__(self, task: Any, plan: Plan, trains: bool) -> None:
        self._task = task
        self._plan = plan
        self._is_victim = task.id == plan.victim
        self._asks = trains and task.id.index == 0 and plan.victim.type != task.id.type
        self._steps = 0
        self._part = ""
        self._done = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def phase(self, name: str) -> None:
        self._task.phase(name)
        self._part, self._steps = _SAID.get(name, ""), 0
        if self._part == "teardown":
            self.reach("teardown")

    def step(self) -> None:
        """Steps are about to be run: those of a part's second window are amid it."""
        self._steps += 1
        if self._steps == 2 and self._part in ("warm-up", "timed"):
            self.reach(self._part)

    def reach(self, part: str) -> None:
        if part != self._plan.phase or self._done:
            return
        self._done = True
        if self._is_victim:
            self.strike()
        elif self._asks:  # the victim only serves, and does not know how far the others are
            (self._plan.folder / "reached").touch()
            wait_until(self._plan.struck.exists, f"{self._plan.victim} is struck")

    def strike(self) -> None:
        print(f"last words of {self._plan.victim}")
        self._plan.struck.touch()
        STRIKES[self._plan.fault](self._plan)

    def strike_when_asked(self) -> None:
        """Have the main thread, which waits for release, struck once others say that they are where it is to be."""
        signal.signal(signal.SIGUSR1, lambda *_: self.strike())

        def wait() -> None:
            while not (self._plan.folder / "reached").exists():
                time.sleep(0.005)
            os.kill(os.getpid(), signal.SIGUSR1)

        threading.Thread(target=wait, daemon=True).start()


armed: list[Armed] = []
"""That of this process."""


@workload("faulty")
def faulty() -> object:
    """A small model whose making is a point where a fault can strike."""
    import tensorflow as tf

    # A workload's function goes to the tasks by value, with globals of its own.
    from tests.faults.tasks import injection

    injection.armed[0].reach("setup")

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.weights = tf.Variable(tf.ones([4, 1]))

        def __call__(self, x: object) -> object:
            return x @ self.weights

    return Model(), lambda y, out: tf.reduce_mean((y - out) ** 2), (tf.ones([8, 4]), tf.ones([8, 1]))


def measure_with_fault(task: Any, job: Job, plan: Plan) -> object:
    """Run in every task: measure, as a gate does, with a fault in one of the tasks."""
    trains = task.id.type == strategies.get(job.strategy).measured_job
    own = Armed(task, plan, trains)
    armed.append(own)
    if task.id == plan.victim and (plan.fault == "never connects" or (plan.phase == "setup" and not trains)):
        own.strike()
    elif task.id == plan.victim and not trains:
        own.strike_when_asked()
    window = Loop.window

    def watched(self: Loop, steps: int) -> Window:
        own.step()
        return window(self, steps)

    Loop.window = watched  # type: ignore[method-assign]
    result = measure(own, job)
    return RESULTS[plan.fault]() if task.id == plan.victim and plan.fault in RESULTS else result
