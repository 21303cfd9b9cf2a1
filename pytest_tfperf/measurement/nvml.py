"""NVIDIA's management library behind a small interface, so that everything above it can be tested without a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_tfperf.measurement.nvml_health import gpu_sample, gpu_state
from pytest_tfperf.records.health import GpuSample, GpuState

_MAX_LINKS = 18
"""NVML_NVLINK_MAX_LINKS of NVLink 4 and 5."""


class NvmlUnavailableError(Exception):
    """There is no NVIDIA driver to ask; the text says why and reads well in parentheses."""


@dataclass(frozen=True)
class Device:
    """A physical GPU as NVML lists it."""

    uuid: str
    """``GPU-...``."""
    name: str
    mig: tuple[Device, ...] | None = None
    """The slices (``MIG-...``) of a GPU in MIG mode; None for a GPU that is used whole."""
    address: str = field(default="", compare=False)
    """On the PCI bus, a slice's that of its GPU; empty where the driver does not tell."""


class Nvml(Protocol):
    """What is asked of the driver."""

    def devices(self) -> tuple[Device, ...]:
        """Every GPU that this process may use, in PCI order."""
        ...

    def nvlinks(self, one: str, other: str) -> int:
        """Active NVLinks between two GPUs given by UUID, through switches or directly; 0 where only PCI joins them."""
        ...

    def driver_version(self) -> str: ...

    def cuda_version(self) -> str:
        """Newest CUDA that the driver supports, for instance ``13.0``."""
        ...

    def state(self, uuid: str) -> GpuState:
        """A GPU's settings, errors and users; what the card does not tell is None. Never raises."""
        ...

    def sample(self, uuid: str) -> GpuSample:
        """Its clock at this moment, and what holds it down. Never raises."""
        ...


@contextmanager
def open_nvml(module: Any = None) -> Iterator[Nvml]:
    """Hold NVML open; raises NvmlUnavailableError where there is no driver or it does not answer.

    Args:
        module: Stands in for nvidia-ml-py's ``pynvml``.

    """
    if module is None:
        try:
            module = importlib.import_module("pynvml")
        except ImportError as error:
            raise NvmlUnavailableError("nvidia-ml-py is not installed") from error
    try:
        module.nvmlInit()
    except module.NVMLError as error:
        raise NvmlUnavailableError(_reason(error)) from error
    try:
        yield PynvmlLibrary(module)
    except module.NVMLError as error:
        raise NvmlUnavailableError(_reason(error)) from error
    finally:
        with suppress(module.NVMLError):
            module.nvmlShutdown()


def _reason(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    if "LibraryNotFound" in type(error).__name__ or "Shared Library Not Found" in text:
        return "libnvidia-ml.so not found"
    return f"NVML: {text}"


class PynvmlLibrary:
    """`Nvml` on nvidia-ml-py. Its methods raise ``module.NVMLError``, which `open_nvml` turns into its own error."""

    def __init__(self, module: Any) -> None:
        self._nvml = module

    def devices(self) -> tuple[Device, ...]:
        found = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            try:
                handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
            except self._nvml.NVMLError as error:
                # A batch system's control group keeps this GPU from us; CUDA neither shows nor numbers it.
                if getattr(error, "value", None) == self._nvml.NVML_ERROR_NO_PERMISSION:
                    continue
                raise
            address = self._address(handle)
            slices = self._slices(handle, address)
            found.append(Device(self._uuid(handle), self._name(handle), slices, address))
        return tuple(found)

    def nvlinks(self, one: str, other: str) -> int:
        nvml = self._nvml
        handles = [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in (one, other)]
        addresses = [_bus_address(nvml.nvmlDeviceGetPciInfo(handle)) for handle in handles]
        first, second = (self._links(handle) for handle in handles)
        direct = sum(1 for remote in first if remote == addresses[1])
        if direct or not first or not second:
            return direct
        # No direct link: all of them go to switches. The driver knows whether those lead to the other GPU.
        try:
            status = nvml.nvmlDeviceGetP2PStatus(handles[0], handles[1], nvml.NVML_P2P_CAPS_INDEX_NVLINK)
        except nvml.NVMLError:
            return 0
        return min(len(first), len(second)) if status == nvml.NVML_P2P_STATUS_OK else 0

    def driver_version(self) -> str:
        return _text(self._nvml.nvmlSystemGetDriverVersion())

    def cuda_version(self) -> str:
        number = int(self._nvml.nvmlSystemGetCudaDriverVersion())
        return f"{number // 1000}.{number % 1000 // 10}"

    def state(self, uuid: str) -> GpuState:
        return gpu_state(self._nvml, uuid)

    def sample(self, uuid: str) -> GpuSample:
        return gpu_sample(self._nvml, uuid)

    def _links(self, handle: Any) -> list[str]:
        """PCI address of what is at the other end of each active link; empty text where the driver does not tell."""
        nvml = self._nvml
        ends = []
        for link in range(_MAX_LINKS):
            try:
                if nvml.nvmlDeviceGetNvLinkState(handle, link) != nvml.NVML_FEATURE_ENABLED:
                    continue
            except nvml.NVMLError:  # a GPU with fewer links, or with none
                continue
            try:
                ends.append(_bus_address(nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link)))
            except nvml.NVMLError:
                ends.append("")
        return ends

    def _slices(self, handle: Any, address: str) -> tuple[Device, ...] | None:
        nvml = self._nvml
        try:
            current, _pending = nvml.nvmlDeviceGetMigMode(handle)
        except nvml.NVMLError:  # a GPU without MIG
            return None
        if current != nvml.NVML_DEVICE_MIG_ENABLE:
            return None
        found = []
        for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            try:
                part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            except nvml.NVMLError:  # no slice was made at this place
                continue
            found.append(Device(self._uuid(part), self._name(part), None, address))
        return tuple(found)

    def _address(self, handle: Any) -> str:
        try:
            return _bus_address(self._nvml.nvmlDeviceGetPciInfo(handle))
        except self._nvml.NVMLError:
            return ""

    def _uuid(self, handle: Any) -> str:
        return _text(self._nvml.nvmlDeviceGetUUID(handle))

    def _name(self, handle: Any) -> str:
        return _text(self._nvml.nvmlDeviceGetName(handle))


def _bus_address(info: Any) -> str:
    return _text(info.busId).upper()


def _text(value: str | bytes) -> str:
    # nvidia-ml-py before 11.5 gives bytes
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
