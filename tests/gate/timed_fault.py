"""A workload of which one task breaks amid the timed region, once, for suites that tests run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

from steady import steady  # type: ignore[import-not-found]

from pytest_tfperf import workload
from pytest_tfperf.measurement.loop import Loop
from pytest_tfperf.records.run import Window

ROUND = 2
"""In which it breaks: there are values of the first, and they make no verdict."""


@workload("breaks")
def breaks(folder: str = "", batch_size: int = 8) -> object:
    """As `steady`; a file ``fault`` in `folder` names the signal that worker 1 gets."""
    if _is_worker_1() and (Path(folder) / "fault").exists():
        _break_in_timed_region(lambda: _strike(Path(folder)))
    return steady(batch_size=batch_size)


def _is_worker_1() -> bool:
    return bool(json.loads(os.environ["TF_CONFIG"])["task"] == {"type": "worker", "index": 1})


def _strike(folder: Path) -> None:
    with (folder / "rounds").open("a") as file:
        file.write("x")
    if (folder / "rounds").stat().st_size == ROUND:
        print("amid the timed region")
        os.kill(os.getpid(), signal.Signals[(folder / "fault").read_text()])


def _break_in_timed_region(strike: Callable[[], None]) -> None:
    windows_of, window = Loop.windows_of, Loop.window
    begun, timed = False, 0

    def begin(self: Loop, step_seconds: float) -> int:
        nonlocal begun
        begun = True
        return windows_of(self, step_seconds)

    def watched(self: Loop, steps: int) -> Window:
        nonlocal timed
        if timed == 1:
            strike()
        result = window(self, steps)
        timed += begun
        return result

    Loop.windows_of, Loop.window = begin, watched  # type: ignore[method-assign]
