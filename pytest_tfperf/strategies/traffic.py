"""Bytes that a worker of parameter servers moves in a step, added up over the edges of its graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_tfperf.strategies.facts import format_bytes


def traffic_facts(fetches: Sequence[Any]) -> dict[str, str]:
    """What one `session.run` of `fetches` brings from parameter servers to the worker, and back.

    Every tensor that is made on one side and used on the other counts once a step, as TensorFlow sends it once, with
    the bytes of its shape. One whose shape only the step knows, as that of a sparse gradient, is counted apart.
    """
    pulled: set[str] = set()
    pushed: set[str] = set()
    sizes: dict[str, int | None] = {}
    for operation in _ancestors(fetches):
        here = _is_on_server(operation)
        for tensor in operation.inputs:
            there = _is_on_server(tensor.op)
            # A resource or a queue is a handle: the operation goes to it. Constants are copied, not sent.
            if here == there or _is_handle(tensor) or tensor.op.type == "Const":
                continue
            (pushed if here else pulled).add(tensor.name)
            count = tensor.shape.num_elements()
            sizes[tensor.name] = None if count is None else count * tensor.dtype.size
    facts = {
        f"bytes {name} per step and worker": format_bytes(sum(sizes[tensor] or 0 for tensor in tensors))
        for name, tensors in (("pulled", pulled), ("pushed", pushed))
    }
    unknown = sum(size is None for size in sizes.values())
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


def _is_on_server(operation: Any) -> bool:
    """Whether it runs on a parameter server: where its device says so, or where the resource that it uses lies."""
    handles = [tensor for tensor in operation.inputs if _is_handle(tensor)]
    return _is_on_server(handles[0].op) if handles else "/job:ps" in operation.device
