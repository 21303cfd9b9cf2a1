"""What NVML tells of a GPU's health. Every call may be unsupported on a card: then that fact is not known."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from pytest_tfperf.records.health import GpuSample, GpuState

_T = TypeVar("_T")


def gpu_state(nvml: Any, uuid: str) -> GpuState:
    """Settings and counters that change slowly; `nvml` is nvidia-ml-py's module, opened."""
    handle, card = _handles(nvml, uuid)
    name = _known(nvml, lambda: nvml.nvmlDeviceGetName(handle)) or "GPU"
    milliwatts = _known(nvml, lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(card))
    default = _known(nvml, lambda: nvml.nvmlDeviceGetPowerManagementDefaultLimit(card))
    rows = _known(nvml, lambda: nvml.nvmlDeviceGetRemappedRows(card))
    processes = _known(nvml, lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    return GpuState(
        uuid,
        # nvidia-ml-py before 11.5 gives bytes
        name.decode("utf-8", "replace") if isinstance(name, bytes) else name,
        power_limit=None if milliwatts is None else milliwatts / 1000,
        default_power_limit=None if default is None else default / 1000,
        corrected_errors=_errors(nvml, card, "NVML_MEMORY_ERROR_TYPE_CORRECTED"),
        uncorrected_errors=_errors(nvml, card, "NVML_MEMORY_ERROR_TYPE_UNCORRECTED"),
        remap_pending=None if rows is None else bool(rows[2]),
        processes=None if processes is None else tuple(sorted({int(process.pid) for process in processes})),
    )


def gpu_sample(nvml: Any, uuid: str) -> GpuSample:
    """What the GPU is doing right now."""
    _, card = _handles(nvml, uuid)
    reasons = _known(nvml, lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(card))
    if reasons is None:  # the name before driver 535
        reasons = _known(nvml, lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card))
    return GpuSample(
        time=time.monotonic(),
        clock=_known(nvml, lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM)),
        reasons=reasons,
        thermal=_violation(nvml, card, "NVML_PERF_POLICY_THERMAL"),
        board=_violation(nvml, card, "NVML_PERF_POLICY_BOARD_LIMIT"),
    )


def _handles(nvml: Any, uuid: str) -> tuple[Any, Any]:
    """The device, and the card that it is: another one for a MIG slice, which has no clocks or limits of its own."""
    handle = _known(nvml, lambda: nvml.nvmlDeviceGetHandleByUUID(uuid))
    if handle is None or not uuid.startswith("MIG-"):
        return handle, handle
    return handle, _known(nvml, lambda: nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle))


def _errors(nvml: Any, card: Any, kind: str) -> int | None:
    return _known(nvml, lambda: nvml.nvmlDeviceGetTotalEccErrors(card, getattr(nvml, kind), nvml.NVML_VOLATILE_ECC))


def _violation(nvml: Any, card: Any, policy: str) -> float | None:
    status = _known(nvml, lambda: nvml.nvmlDeviceGetViolationStatus(card, getattr(nvml, policy)))
    return None if status is None else status.violationTime / 1e9  # nanoseconds, says nvmlViolationTime_t


def _known(nvml: Any, ask: Callable[[], _T]) -> _T | None:
    try:
        return ask()
    # Unsupported by the card or not permitted; a function that this driver or this nvidia-ml-py does not have; a
    # device without a handle. What is not known is no reason to lose a measurement.
    except (nvml.NVMLError, AttributeError, TypeError, ValueError):
        return None
