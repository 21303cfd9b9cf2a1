"""Bytes that a worker of parameter servers moves in a step, added up over the edges of its graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_tfperf.strategies.facts import format_bytes, short_device


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
        f"bytes {name} per step and worker": format_bytes(sum(size or 0 for size in moved.values()))
        for name, moved in (("pulled", pulled), ("pushed", pushed))
    }
    unknown = sum(size is None for size in (*pulled.values(), *pushed.values()))
    return {**facts, "moved tensors of unknown size": str(unknown)} if unknown else facts


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
