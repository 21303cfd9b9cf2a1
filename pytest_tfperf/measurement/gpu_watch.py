"""Watches the GPUs of a run: their state before and after, and a sample several times a second in between.

Clocks and their limits say something only under load, so they are sampled while the run goes on, from a thread of
pytest's own process, which has nothing else to do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from pytest_tfperf.measurement.host import is_under, process_name
from pytest_tfperf.measurement.nvml import Nvml, NvmlUnavailableError, open_nvml
from pytest_tfperf.records.health import GpuSample, GpuState, GpuUse
from pytest_tfperf.records.task import TaskPlacement

SAMPLE_SECONDS = 0.25
"""Eight samples in the two seconds of a run's windows: enough for a median, few enough to cost nothing."""
_MPS_SERVER = "nvidia-cuda-mps"
"""CUDA's multi-process service, which shows as a process of its own and computes only for others."""


class GpuWatcher:
    """Holds NVML open for a session, since opening it takes longer than a run's looks."""

    def __init__(self, root: int, nvml: Nvml | None = None) -> None:
        """`root` is the process under which all tasks run; `nvml` stands in for the driver."""
        self._root = root
        self._nvml = nvml
        self._open = ExitStack()
        self._unavailable = False

    @contextmanager
    def watch(self, tasks: Sequence[TaskPlacement], numbers: Mapping[str, int]) -> Iterator[list[GpuUse]]:
        """Watch the GPUs of `tasks` while the context is open; the list is filled at its end.

        `numbers` gives each GPU's place among those of the session. Stays empty without GPUs or driver.
        """
        uses: list[GpuUse] = []
        users: dict[str, list[str]] = {}
        for task in tasks:
            for uuid in task.gpus:
                users.setdefault(uuid, []).append(str(task.id))
        nvml = self._driver() if users else None
        if nvml is None:
            yield uses
            return
        before = {uuid: nvml.state(uuid) for uuid in users}
        samples: dict[str, list[GpuSample]] = {uuid: [] for uuid in users}
        over = threading.Event()
        thread = threading.Thread(target=_sample, args=(nvml, samples, over), name="tfperf GPU samples", daemon=True)
        thread.start()
        try:
            yield uses
        finally:
            over.set()
            thread.join()
        for uuid, names in users.items():
            after = nvml.state(uuid)
            foreign = self._foreign(before[uuid], after)
            number = numbers.get(uuid, 0)
            uses.append(GpuUse(number, tuple(names), before[uuid], after, tuple(samples[uuid]), foreign))

    def close(self) -> None:
        self._open.close()
        self._nvml = None

    def _driver(self) -> Nvml | None:
        if self._nvml is None and not self._unavailable:
            try:
                self._nvml = self._open.enter_context(open_nvml())
            except NvmlUnavailableError:
                self._unavailable = True
        return self._nvml

    def _foreign(self, before: GpuState, after: GpuState) -> dict[int, str]:
        """Processes of others that computed on a GPU before the run.

        In a container NVML may give ids of the host, under which nothing is found here. Such a process may be one of
        ours that is just ending, from the run before: it counts if it is still there after this one.
        """
        found = {}
        for pid in before.processes or ():
            own = is_under(pid, self._root)
            if own or (own is None and pid not in (after.processes or ())):
                continue
            name = process_name(pid)
            if not name.startswith(_MPS_SERVER):
                found[pid] = name or "a process"
        return found


def _sample(nvml: Nvml, samples: Mapping[str, list[GpuSample]], over: threading.Event) -> None:
    while True:
        for uuid, taken in samples.items():
            taken.append(nvml.sample(uuid))
        if over.wait(SAMPLE_SECONDS):
            return
