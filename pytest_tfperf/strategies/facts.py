"""What a step is made of, as text: read from variables and graphs that exist, never from what they should be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def bytes_of(variable: Any) -> int:
    """Size of a variable's or tensor's value, whose shape must be known."""
    return int(variable.shape.num_elements()) * int(variable.dtype.size)


def format_bytes(size: float) -> str:
    """``34.1 MB``; a megabyte is a million bytes, as for networks."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} B"


def variable_facts(variables: Iterable[Any]) -> dict[str, str]:
    """How many variables there are, and on which device how many with how many bytes."""
    found = list(variables)
    facts = {"variables": _counted([bytes_of(variable) for variable in found])}
    for device, sizes in sorted(_sizes_by_device(found).items()):
        facts[f"variables on {device}"] = _counted(sizes)
    return facts


def shard_facts(variables: Iterable[Any], servers: int) -> dict[str, str]:
    """How evenly parameter servers share the bytes: the largest share over the mean, 1.00 where all are equal.

    A server that holds nothing counts too: the step waits for the fullest one, whatever the others have.
    """
    totals = [sum(sizes) for sizes in _sizes_by_device(list(variables)).values()]
    mean = sum(totals) / servers
    return {"max/mean bytes of a server": f"{max(totals) / mean:.2f}"} if totals and mean else {}


def short_device(device: str) -> str:
    """``/job:ps/task:0`` of ``/job:ps/replica:0/task:0/device:CPU:0``: the part that tells devices apart here."""
    parts = [part for part in device.split("/") if part and not part.startswith("replica:")]
    if any(part == "job:localhost" for part in parts):
        parts = [part for part in parts if part.startswith("device:")]
    if "job:ps" in parts:  # they have no other device than their CPU
        parts = [part for part in parts if not part.startswith("device:")]
    return "/" + "/".join(parts)


def _sizes_by_device(variables: Sequence[Any]) -> dict[str, list[int]]:
    sizes: dict[str, list[int]] = {}
    for variable in variables:
        sizes.setdefault(short_device(variable.device), []).append(bytes_of(variable))
    return sizes


def _counted(sizes: Sequence[int]) -> str:
    return f"{len(sizes)}, {format_bytes(sum(sizes))}"
