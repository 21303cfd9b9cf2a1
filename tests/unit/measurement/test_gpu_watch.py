"""Looks at GPUs through a made-up ``pynvml``: what a card tells, what it refuses to tell, and who else computes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tfperf.measurement import gpu_watch
from pytest_tfperf.measurement.gpu_watch import GpuWatcher
from pytest_tfperf.measurement.health import HealthWatcher
from pytest_tfperf.measurement.nvml import NvmlUnavailableError, open_nvml
from pytest_tfperf.records.health import GpuState
from pytest_tfperf.records.task import TaskId, TaskPlacement
from tests.unit.measurement.test_gpus import FakePynvml, NVMLError

H100 = "NVIDIA H100 80GB HBM3"


class HealthyPynvml(FakePynvml):
    """Two GPUs that answer every question about their health."""

    NVML_CLOCK_SM = 1
    NVML_PERF_POLICY_THERMAL = 1
    NVML_PERF_POLICY_BOARD_LIMIT = 3
    NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0

    def __init__(self, **changes: Any) -> None:
        super().__init__({0: [], 1: []}, **changes)
        self.pids: list[int] = []
        self.samples = 0
        self.sampled = threading.Event()

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:
        return 650_000

    def nvmlDeviceGetPowerManagementDefaultLimit(self, handle: int) -> int:
        return 700_000

    def nvmlDeviceGetRemappedRows(self, handle: int) -> tuple[int, int, int, int]:
        return 1, 0, 1, 0

    def nvmlDeviceGetTotalEccErrors(self, handle: int, kind: int, counter: int) -> int:
        return (7, 0)[kind]

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:
        return [SimpleNamespace(pid=pid) for pid in self.pids]

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int) -> int:
        return 0x20

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:
        self.samples += 1
        self.sampled.set()
        return 1395 + handle

    def nvmlDeviceGetViolationStatus(self, handle: int, policy: int) -> SimpleNamespace:
        return SimpleNamespace(referenceTime=1, violationTime=policy * 250_000_000)


def tasks(*gpus: str) -> list[TaskPlacement]:
    return [TaskPlacement(TaskId("worker", index), gpus=(uuid,)) for index, uuid in enumerate(gpus)]


def test_what_a_card_tells() -> None:
    with open_nvml(HealthyPynvml()) as nvml:
        assert nvml.state("GPU-1") == GpuState("GPU-1", H100, 650.0, 700.0, 7, 0, True, ())
        sample = nvml.sample("GPU-1")
    assert (sample.clock, sample.reasons, sample.thermal, sample.board) == (1396, 0x20, 0.25, 0.75)


def test_a_card_or_driver_that_tells_nothing_raises_nothing() -> None:
    def refuse(*_args: object) -> None:
        raise NVMLError(3, "Not Supported")

    silent = HealthyPynvml()
    for name in dir(HealthyPynvml):
        if name.startswith("nvmlDevice") and name != "nvmlDeviceGetHandleByUUID":
            setattr(silent, name, refuse)
    for module in (silent, FakePynvml({0: [], 1: []}, nvmlDeviceGetName=refuse)):  # the second lacks the functions
        with open_nvml(module) as nvml:
            assert nvml.state("GPU-0") == GpuState("GPU-0", "GPU")
            sample = nvml.sample("GPU-0")
        assert (sample.clock, sample.reasons, sample.thermal, sample.board) == (None,) * 4


def test_an_older_driver_knows_the_reasons_by_another_name() -> None:
    def unknown(handle: int) -> int:
        raise NVMLError(13, "Function Not Found")

    module = HealthyPynvml(nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0x40)
    setattr(module, "nvmlDeviceGetCurrentClocksEventReasons", unknown)  # noqa: B010 - it is a method there
    with open_nvml(module) as nvml:
        assert nvml.sample("GPU-0").reasons == 0x40


def test_a_slice_has_the_clocks_of_its_card() -> None:
    module = HealthyPynvml(nvmlDeviceGetDeviceHandleFromMigDeviceHandle=lambda handle: 0)
    with open_nvml(module) as nvml:
        assert nvml.sample("MIG-1").clock == 1395
        assert nvml.state("MIG-1").power_limit == 650.0


def test_a_run_is_sampled_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_watch, "SAMPLE_SECONDS", 0.001)
    module = HealthyPynvml()
    with open_nvml(module) as nvml:
        watcher = GpuWatcher(os.getpid(), nvml)
        with watcher.watch(tasks("GPU-1", "GPU-0"), {"GPU-0": 4, "GPU-1": 5}) as uses:
            for _ in range(3):
                module.sampled.clear()
                assert module.sampled.wait(30)
        after = module.samples
    assert [(use.number, use.tasks) for use in uses] == [(5, ("worker:0",)), (4, ("worker:1",))]
    assert all(len(use.samples) >= 2 for use in uses)
    assert [use.samples[0].clock for use in uses] == [1396, 1395]
    assert not [thread for thread in threading.enumerate() if "GPU samples" in thread.name]
    assert module.samples == after


def test_without_gpus_or_driver_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def no_driver() -> Any:
        asked.append(1)
        raise NvmlUnavailableError("none")

    monkeypatch.setattr(gpu_watch, "open_nvml", no_driver)
    watcher = GpuWatcher(os.getpid())
    with watcher.watch([TaskPlacement(TaskId("worker", 0))], {}) as uses:
        assert asked == []
    for _ in range(2):
        with watcher.watch(tasks("GPU-0"), {}) as uses:
            pass
        assert (uses, asked) == ([], [1])
    watcher.close()


def test_a_session_opens_nvml_once_and_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = HealthyPynvml()
    monkeypatch.setattr(gpu_watch, "open_nvml", lambda: open_nvml(module))
    watcher = HealthWatcher([0, 1])
    for _ in range(2):
        with watcher.watch(tasks("GPU-0"), ["GPU-0"], links=False) as health:
            pass
        assert module.open == 1
        assert any("power limit of 650 W" in line for line in health.lasting())
    watcher.close()
    assert module.open == 0


def test_own_processes_are_not_others() -> None:
    """Ours hang under pytest; an id that is nobody's here is a host's, and counts only if it outlives the run."""
    module = HealthyPynvml()
    with (
        open_nvml(module) as nvml,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child,
    ):
        gone, stays = 2**22 + 1, 2**22 + 2  # above the kernel's largest process id
        module.pids = [child.pid, os.getpid(), gone, stays, 1]
        with GpuWatcher(os.getpid(), nvml).watch(tasks("GPU-0"), {}) as uses:
            module.pids.remove(gone)
        with GpuWatcher(child.pid, nvml).watch(tasks("GPU-0"), {}) as seen_by_child:
            pass
        child.kill()
    assert set(uses[0].foreign) == {stays, 1}
    assert uses[0].foreign[stays] == "a process"
    assert os.getpid() in seen_by_child[0].foreign
    assert child.pid not in seen_by_child[0].foreign
