"""Bytes that a step moves, to and from parameter servers or between devices, added up over the edges of its graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_tfperf.strategies.facts import format_bytes, short_device
from pytest_tfperf.units import plural


def traffic_facts(fetches: Sequence[Any]) -> dict[str, str]:
    """What one `session.run` of `fetches` brings from parameter servers to the worker, and back.

    Every tensor that is made on one side and used on the other counts once a step for each task that uses it, as
    TensorFlow sends it, with the bytes of its shape. One whose shape only the step knows, as that of a sparse
    gradient, is counted apart. Updates that a synchronous strategy runs in a thread of worker 0 stay on the servers.
    """
    # By tensor and receiver.
    pulled: dict[tuple[str, str], int | None] = {}
    pushed: dict[tuple[str, str], int | None] = {}
    for operation in _ancestors(fetches):
        here = _server_of(operation)
        for tensor in operation.inputs:
            # A resource or a queue is a handle: the operation goes to it. Constants are copied, not sent.
            if bool(here) == bool(_server_of(tensor.op)) or _is_handle(tensor) or tensor.op.type == "Const":
                continue
            count = tensor.shape.num_elements()
            size = None if count is None else count * tensor.dtype.size
            (pushed if here else pulled)[tensor.name, here] = size
    facts = {
        f"bytes {name} per step and worker": _moved(moved) for name, moved in (("pulled", pulled), ("pushed", pushed))
    }
    unknown = sum(size is None for size in (*pulled.values(), *pushed.values()))
    return {**facts, "moved tensors of unknown size": str(unknown)} if unknown else facts


def pulled_tensors(fetches: Sequence[Any]) -> list[Any]:
    """The tensors that one `session.run` of `fetches` brings from parameter servers to the worker.

    A run that is fed their values asks nothing of a server.
    """
    found = {}
    for operation in _ancestors(fetches):
        if not _server_of(operation):
            for tensor in operation.inputs:
                if _server_of(tensor.op) and not _is_handle(tensor):
                    found[tensor.name] = tensor
    return list(found.values())


def copy_facts(fetches: Sequence[Any]) -> dict[str, str]:
    """What one `session.run` of `fetches` copies from device to device of one process.

    A tensor counts once a step for each other device that uses it, as TensorFlow copies it. Operations are where the
    graph asks for them to be; a kernel that a device lacks would run elsewhere.
    """
    copied: dict[tuple[str, str], int | None] = {}
    for operation in _ancestors(fetches):
        here = _device_of(operation)
        for tensor in operation.inputs:
            if _is_handle(tensor) or tensor.op.type == "Const" or _device_of(tensor.op) == here:
                continue
            count = tensor.shape.num_elements()
            copied[tensor.name, here] = None if count is None else count * tensor.dtype.size
    return {"copies between devices per step": _moved(copied)}


def _device_of(operation: Any) -> str:
    """Where it runs: an operation on a resource is where the resource is."""
    handles = [tensor for tensor in operation.inputs if _is_handle(tensor)]
    return _device_of(handles[0].op) if handles else short_device(operation.device)


def _moved(sizes: Mapping[tuple[str, str], int | None]) -> str:
    return f"{format_bytes(sum(size or 0 for size in sizes.values()))} in {plural(len(sizes), 'tensor')}"


def _ancestors(fetches: Iterable[Any]) -> Iterable[Any]:
    """Every operation that running `fetches` runs."""
    waiting = [getattr(fetch, "op", fetch) for fetch in fetches]
    seen = set(waiting)
    while waiting:
        operation = waiting.pop()
        yield operation
        for source in (*(tensor.op for tensor in operation.inputs), *operation.control_inputs):
            if source not in seen:
                seen.add(source)
                waiting.append(source)


def _is_handle(tensor: Any) -> bool:
    return tensor.dtype.base_dtype.name in ("resource", "variant") or tensor.dtype._is_ref_dtype


def _server_of(operation: Any) -> str:
    """The parameter server that it runs on, or nothing: by its device, or by the resource that it uses."""
    handles = [tensor for tensor in operation.inputs if _is_handle(tensor)]
    if handles:
        return _server_of(handles[0].op)
    return short_device(operation.device) if "/job:ps" in operation.device else ""
