"""What a session holds while it runs, and how all of it ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path

from pytest_tfperf.interrupts import Ending, uninterrupted
from pytest_tfperf.measurement.cores import allowed_cores
from pytest_tfperf.measurement.device_lock import DeviceLock, core_folders, gpu_folders
from pytest_tfperf.measurement.gpus import visible_gpus
from pytest_tfperf.measurement.host import scope_of
from pytest_tfperf.records.arm import Device


class Lifetime:
    """Of one session, in the process that made it: a process that pytest forks has nothing to end."""

    def __init__(self, *closes: Callable[[], None]) -> None:
        """`closes` end what there may be from the beginning, in this order."""
        self._closes = list(closes)
        self._devices = DeviceLock()
        self._ending = Ending()
        self._owner = os.getpid()

    def begin(self) -> None:
        """From here on there may be processes, a worktree and folders: signals end the session in order."""
        self._ending.begin()

    def ends_first(self, close: Callable[[], None]) -> None:
        """Have this end before all that was there earlier."""
        self._closes.insert(0, close)

    def take_turn(
        self, kinds: Collection[Device], cores: Collection[int], *, seconds: float, say: Callable[[str], None]
    ) -> float:
        """Hold what is measured on until the session ends, and give the seconds that another session was waited for.

        GPU tests leave most of the cores idle, and so share them with other sessions of such tests.
        """
        alone, shared = list[Path](), list[Path]()
        if "cpu" in kinds:
            alone += core_folders(scope_of([cores], ()).cores)
        if "gpu" in kinds:
            alone += gpu_folders([gpu.address for gpu in visible_gpus()])
            shared += core_folders(allowed_cores())
        return self._devices.hold(alone, shared, seconds=seconds, say=say)

    def close(self) -> None:
        """End all of it, whatever fails to end. No signal comes in between: there is nothing else left to end."""
        if os.getpid() != self._owner:
            return
        try:
            with uninterrupted(drop=True), ExitStack() as stack:
                stack.callback(self._devices.close)
                for close in reversed(self._closes):
                    stack.callback(close)
        finally:
            self._ending.end()  # not within the above, where the handlers are not its own
