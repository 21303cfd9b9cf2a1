"""Visible GPUs as CUDA would show them, on made-up machines; and NVML's answers turned into ours."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tfperf.measurement import gpus as gpus_module
from pytest_tfperf.measurement.gpus import Gpu, GpuSurvey, no_gpu_reason, survey, visible_gpus
from pytest_tfperf.measurement.nvml import Device, NvmlUnavailableError, open_nvml
from pytest_tfperf.records.health import GpuSample, GpuState

H100 = "NVIDIA H100 80GB HBM3"


class FakeNvml:
    """A machine with these GPUs, every pair joined by the same number of NVLinks unless told otherwise."""

    def __init__(self, *devices: Device, links: int = 18, pairs: dict[tuple[str, str], int] | None = None) -> None:
        self._devices = devices
        self._links = links
        self._pairs = pairs or {}

    def devices(self) -> tuple[Device, ...]:
        return self._devices

    def nvlinks(self, one: str, other: str) -> int:
        return self._pairs.get((one, other), self._links)

    def driver_version(self) -> str:
        return "580.1"

    def cuda_version(self) -> str:
        return "13.0"

    def state(self, uuid: str) -> GpuState:
        return GpuState(uuid, H100)

    def sample(self, uuid: str) -> GpuSample:
        return GpuSample(0.0, None, None, None, None)


FOUR = tuple(Device(f"GPU-{letter}{letter}1", H100) for letter in "abcd")
SPLIT = (
    Device("GPU-aa1", "A100", (Device("MIG-x1", "A100 MIG 1g"), Device("MIG-x2", "A100 MIG 1g"))),
    Device("GPU-bb1", "A100"),
    Device("GPU-cc1", "A100", ()),
)


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    gpus_module._survey_once.cache_clear()
    yield
    gpus_module._survey_once.cache_clear()


@pytest.mark.parametrize(
    ("listed", "visible"),
    [
        (None, "abcd"),
        ("", ""),
        ("-1", ""),
        ("0,1,2,3", "abcd"),
        ("2", "c"),
        ("3,1", "db"),
        (" 1 , 2 ", "bc"),
        ("0,-1,1", "a"),
        ("0,4,1", "a"),
        ("0,x,1", "a"),
        ("0,,1", "a"),
        ("1x,2y", "bc"),
        ("+1", "b"),
        ("1,1", ""),
        ("99999999999", ""),
        ("GPU-bb1", "b"),
        ("GPU-b", "b"),
        ("GPU-c,GPU-a", "ca"),
        ("GPU-", ""),
        ("GPU-zz", ""),
        ("GPU-bb1,GPU-b", ""),
        ("GPU-BB1", "b"),
        ("GPU-bb1 ,GPU-aa1", "ba"),
        ("GPU-bb1, GPU-aa1", "b"),
        (" GPU-bb1", ""),
        ("0,GPU-bb1", "a"),
        ("GPU-bb1,0", "b"),
        ("MIG-x1", ""),
        ("NoDevFiles", ""),
    ],
)
def test_cuda_visible_devices(listed: str | None, visible: str) -> None:
    found = survey(FakeNvml(*FOUR), listed)
    assert [gpu.uuid for gpu in found.gpus] == [f"GPU-{letter}{letter}1" for letter in visible]
    assert all(gpu.identifier == gpu.uuid and gpu.name == H100 for gpu in found.gpus)
    assert bool(found.reason) == (not visible)


@pytest.mark.parametrize(
    ("listed", "visible"),
    [
        (None, ["MIG-x1", "MIG-x2", "GPU-bb1"]),
        ("MIG-x2", ["MIG-x2"]),
        ("MIG-x", []),
        ("0,1", ["MIG-x1", "GPU-bb1"]),
        ("1,2", ["GPU-bb1"]),
        ("GPU-aa1", ["MIG-x1"]),
    ],
)
def test_slices(listed: str | None, visible: list[str]) -> None:
    assert [gpu.identifier for gpu in survey(FakeNvml(*SPLIT), listed).gpus] == visible


def test_reasons() -> None:
    assert survey(FakeNvml(), None).reason == "the NVIDIA driver finds no GPU"
    assert survey(FakeNvml(*FOUR), "-1").reason == "CUDA_VISIBLE_DEVICES='-1' hides all 4 GPUs of this machine"
    assert survey(FakeNvml(SPLIT[2]), None).reason == "the GPUs are in MIG mode and have no slices"


@pytest.mark.parametrize(
    ("nvml", "listed", "interconnect"),
    [
        (FakeNvml(*FOUR), None, "nv18"),
        (FakeNvml(*FOUR), "1", "none"),
        (FakeNvml(*FOUR, links=0), None, "pcie"),
        (FakeNvml(*FOUR, pairs={("GPU-bb1", "GPU-dd1"): 0}), None, "pcie"),
        (FakeNvml(*FOUR, pairs={("GPU-bb1", "GPU-dd1"): 0}), "0,1,2", "nv18"),
        (FakeNvml(*FOUR, pairs={("GPU-aa1", "GPU-bb1"): 4}), None, "nv4"),
        (FakeNvml(*SPLIT), None, "pcie"),
    ],
)
def test_interconnect(nvml: FakeNvml, listed: str | None, interconnect: str) -> None:
    assert survey(nvml, listed).interconnect == interconnect


class NVMLError(Exception):
    def __init__(self, value: int, text: str) -> None:
        super().__init__(text)
        self.value = value


class NVMLErrorLibraryNotFound(NVMLError):
    pass


class FakePynvml(SimpleNamespace):
    """The functions of ``pynvml`` on two GPUs whose links' other ends are given; numbers serve as handles."""

    NVMLError = NVMLError
    NVML_ERROR_NO_PERMISSION = 4
    NVML_FEATURE_ENABLED = 1
    NVML_DEVICE_MIG_ENABLE = 1
    NVML_P2P_CAPS_INDEX_NVLINK = 2
    NVML_P2P_STATUS_OK = 0

    def __init__(self, ends: dict[int, list[str]], **changes: Any) -> None:
        self.open = 0
        self.ends = ends
        self.denied: set[int] = set()
        self.p2p = 0
        super().__init__(**changes)

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index in self.denied:
            raise NVMLError(4, "Insufficient Permissions")
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        return int(uuid[-1])

    def nvmlDeviceGetUUID(self, handle: int) -> bytes | str:
        return f"GPU-{handle}" if handle < 100 else b"MIG-100"

    def nvmlDeviceGetName(self, handle: int) -> str:
        return H100

    def nvmlDeviceGetMigMode(self, handle: int) -> tuple[int, int]:
        raise NVMLError(3, "Not Supported")

    def nvmlDeviceGetPciInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(busId=f"00000000:0{handle}:00.0")

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> int:
        if link >= len(self.ends[handle]):
            raise NVMLError(2, "Invalid Argument")
        return int(self.ends[handle][link] != "down")

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: int, link: int) -> SimpleNamespace:
        if self.ends[handle][link] == "?":
            raise NVMLError(3, "Not Supported")
        return SimpleNamespace(busId=self.ends[handle][link].encode())

    def nvmlDeviceGetP2PStatus(self, one: int, other: int, index: int) -> int:
        return self.p2p

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.1"

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return 12080


FIRST, SECOND, SWITCH = "00000000:00:00.0", "00000000:01:00.0", "00000000:55:00.0"


@pytest.mark.parametrize(
    ("ends", "p2p", "links"),
    [
        ({0: [], 1: []}, 0, 0),
        ({0: [SECOND] * 4, 1: [FIRST] * 4}, 0, 4),
        ({0: [SECOND, "down", SECOND], 1: [FIRST] * 3}, 0, 2),
        ({0: [SWITCH] * 18, 1: [SWITCH] * 18}, 0, 18),
        ({0: [SWITCH] * 18, 1: [SWITCH] * 17 + ["down"]}, 0, 17),
        ({0: ["?"] * 18, 1: ["?"] * 18}, 0, 18),
        ({0: [SWITCH] * 18, 1: [SWITCH] * 18}, 5, 0),
        ({0: [SWITCH], 1: []}, 0, 0),
    ],
)
def test_nvlinks(ends: dict[int, list[str]], p2p: int, links: int) -> None:
    module = FakePynvml(ends, p2p=p2p)
    with open_nvml(module) as nvml:
        assert nvml.nvlinks("GPU-0", "GPU-1") == links
    assert module.open == 0


def test_real_answers_become_devices() -> None:
    module = FakePynvml({0: [], 1: []})
    with open_nvml(module) as nvml:
        assert nvml.devices() == (Device("GPU-0", H100), Device("GPU-1", H100))
        assert [device.address for device in nvml.devices()] == [FIRST, SECOND]
        assert nvml.driver_version() == "580.1"
        assert nvml.cuda_version() == "12.8"
        module.denied = {0}
        assert nvml.devices() == (Device("GPU-1", H100),)


def test_slices_are_listed() -> None:
    def slice_at(_handle: int, index: int) -> int:
        if index:
            raise NVMLError(6, "Not Found")
        return 100

    module = FakePynvml({0: [], 1: []})
    setattr(module, "nvmlDeviceGetMigMode", lambda handle: (1 - handle, 0))  # noqa: B010 - it is a method there
    module.nvmlDeviceGetMaxMigDeviceCount = lambda handle: 7
    module.nvmlDeviceGetMigDeviceHandleByIndex = slice_at
    with open_nvml(module) as nvml:
        assert nvml.devices() == (Device("GPU-0", H100, (Device("MIG-100", H100),)), Device("GPU-1", H100))
        assert [part.address for part in nvml.devices()[0].mig or ()] == [FIRST]


def fail(error: Exception) -> Any:
    def call(*_args: object) -> None:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NVMLErrorLibraryNotFound(12, "NVML Shared Library Not Found"), "libnvidia-ml.so not found"),
        (NVMLError(9, "Driver Not Loaded"), "NVML: Driver Not Loaded"),
        (NVMLError(18, "Driver/library version mismatch"), "NVML: Driver/library version mismatch"),
    ],
)
def test_no_driver(monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str) -> None:
    module = FakePynvml({}, nvmlInit=fail(error))
    monkeypatch.setattr(gpus_module, "open_nvml", lambda: open_nvml(module))
    assert visible_gpus() == ()
    assert no_gpu_reason() == f"no NVIDIA driver ({reason})"


def test_a_driver_that_fails_later_is_closed_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    module = FakePynvml({}, nvmlDeviceGetCount=fail(NVMLError(15, "GPU is lost")))
    monkeypatch.setattr(gpus_module, "open_nvml", lambda: open_nvml(module))
    assert no_gpu_reason() == "no NVIDIA driver (NVML: GPU is lost)"
    assert module.open == 0


def test_without_nvidia_ml_py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    with pytest.raises(NvmlUnavailableError, match="nvidia-ml-py is not installed"), open_nvml():
        pass
    assert visible_gpus() == ()


def test_the_driver_is_asked_once_for_each_list(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def look(_nvml: object, listed: str | None) -> GpuSurvey:
        asked.append(listed)
        return GpuSurvey((Gpu("GPU-0", H100, "GPU-0"),))

    module = FakePynvml({})
    monkeypatch.setattr(gpus_module, "open_nvml", lambda: open_nvml(module))
    monkeypatch.setattr(gpus_module, "survey", look)
    for listed in ("0", "1", "0"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
        assert len(visible_gpus()) == 1
    assert asked == ["0", "1"]
