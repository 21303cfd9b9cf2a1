"""Which GPUs a test may use: those that CUDA would show to a program started here."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from pytest_tfperf.measurement.nvml import Device, Nvml, NvmlUnavailableError, open_nvml
from pytest_tfperf.units import plural

_UUID_PREFIXES = ("GPU-", "MIG-")


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a MIG slice of one, that a task can be given."""

    identifier: str
    """For the task's CUDA_VISIBLE_DEVICES. A UUID, as CUDA and NVML may number unequal GPUs differently."""
    name: str
    """Model, for instance ``NVIDIA H100 80GB HBM3``."""
    uuid: str
    address: str = field(default="", compare=False)
    """On the PCI bus, a slice's that of its GPU; empty where the driver does not tell."""


@dataclass(frozen=True)
class GpuSurvey:
    """The visible GPUs and what the driver says about them."""

    gpus: tuple[Gpu, ...]
    reason: str = ""
    """Why there are none, for instance ``no NVIDIA driver (libnvidia-ml.so not found)``; empty where there are some."""
    interconnect: str = "none"
    """``nv18`` where at least 18 NVLinks join every pair, ``pcie`` where some pair has none, ``none`` for one GPU."""
    driver: str = ""
    cuda_driver: str = ""


def visible_gpus() -> tuple[Gpu, ...]:
    """List the GPUs that CUDA_VISIBLE_DEVICES leaves; () without a driver. Never raises for want of one."""
    return survey_gpus().gpus


def no_gpu_reason() -> str:
    """Say why there are no visible GPUs, for a skip to tell; empty where there are some."""
    return survey_gpus().reason


def too_few_gpus(needed: int, gpus: Sequence[Gpu], reason: str) -> str:
    """What a test is skipped for that needs so many; empty where there are enough. `reason` is why there are none."""
    if len(gpus) >= needed:
        return ""
    why = f" ({reason})" if not gpus and reason else ""
    return f"needs {plural(needed, 'GPU')}, this machine has {len(gpus)}{why}"


def survey_gpus() -> GpuSurvey:
    """Ask the driver once a session: opening NVML takes long on a machine with many GPUs, and they do not change."""
    return _survey_once(os.environ.get("CUDA_VISIBLE_DEVICES"))


@lru_cache(maxsize=8)
def _survey_once(listed: str | None) -> GpuSurvey:
    try:
        with open_nvml() as nvml:
            return survey(nvml, listed)
    except NvmlUnavailableError as error:
        return GpuSurvey((), f"no NVIDIA driver ({error})")


def survey(nvml: Nvml, listed: str | None) -> GpuSurvey:
    """Look at the GPUs.

    Args:
        nvml: Whom to ask.
        listed: Value of CUDA_VISIBLE_DEVICES; None where it is not set.

    """
    devices = nvml.devices()
    chosen = _all(devices) if listed is None else _listed(devices, listed)
    gpus = tuple(Gpu(device.uuid, device.name, device.uuid, device.address) for device in chosen)
    if not gpus:
        return GpuSurvey((), _why_none(devices, listed))
    return GpuSurvey(gpus, "", _interconnect(nvml, gpus), nvml.driver_version(), nvml.cuda_version())


def _all(devices: Sequence[Device]) -> list[Device]:
    return [part for device in devices for part in (device.mig if device.mig is not None else (device,))]


def _listed(devices: Sequence[Device], listed: str) -> list[Device]:
    """Read CUDA_VISIBLE_DEVICES as CUDA does: up to the first entry that names no GPU; nothing where one repeats.

    The first entry decides whether the list is one of numbers or of UUIDs; an entry of the other kind ends it. All of
    this, spaces included, was compared with what driver 580 shows to a process.
    """
    named = _with_uuid if listed.startswith(_UUID_PREFIXES) else _with_number
    chosen: list[Device] = []
    for entry in listed.split(","):
        device = named(devices, entry)
        if device is None:
            break
        if device in chosen:
            return []
        chosen.append(device)
    return chosen


def _with_uuid(devices: Sequence[Device], entry: str) -> Device | None:
    if not entry.startswith(_UUID_PREFIXES):
        return None
    candidates = [part for device in devices for part in (device, *(device.mig or ()))]
    prefix = entry.rstrip().lower()
    matches = [device for device in candidates if device.uuid.lower().startswith(prefix)]
    return _first_slice(matches[0]) if len(matches) == 1 else None  # a prefix of two UUIDs names neither


def _with_number(devices: Sequence[Device], entry: str) -> Device | None:
    # CUDA reads a number as strtol does, so " 1x" is 1 and "x" is none.
    number = re.match(r"\s*\+?(\d{1,9})", entry)
    if number is None or int(number[1]) >= len(devices):
        return None
    return _first_slice(devices[int(number[1])])


def _first_slice(device: Device) -> Device | None:
    """CUDA shows a GPU in MIG mode as its first slice."""
    if device.mig is None:
        return device
    return device.mig[0] if device.mig else None


def _why_none(devices: Sequence[Device], listed: str | None) -> str:
    if not devices:
        return "the NVIDIA driver finds no GPU"
    if listed is not None:
        return f"CUDA_VISIBLE_DEVICES={listed!r} hides all {len(devices)} GPUs of this machine"
    return "the GPUs are in MIG mode and have no slices"


def _interconnect(nvml: Nvml, gpus: Sequence[Gpu]) -> str:
    if len(gpus) < 2:
        return "none"
    if any(gpu.uuid.startswith("MIG-") for gpu in gpus):
        return "pcie"  # slices cannot use NVLink
    fewest = min(nvml.nvlinks(one.uuid, other.uuid) for one, other in combinations(gpus, 2))
    return f"nv{fewest}" if fewest else "pcie"
