"""From a record of TensorFlow's profiler: what each GPU did, and how long it waited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Event:
    """Something that ran on a GPU, in seconds of the record's clock."""

    name: str
    start: float
    end: float


@dataclass
class Timeline:
    """One GPU's part of a record, in seconds."""

    span: float = 0.0
    compute: float = 0.0
    exposed: float = 0.0
    idle: float = 0.0
    launches: int = 0
    gaps: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """Seconds in all and number of the idle stretches between an event of one name and one of the other."""
    kernels: dict[str, float] = field(default_factory=dict)
    """Seconds by kernel."""


def timeline(events: Iterable[Event]) -> Timeline:
    """Split the time from the first event's start to the last one's end."""
    ordered = sorted(events, key=lambda event: event.start)
    if not ordered:
        return Timeline()
    begin, end = ordered[0].start, max(event.end for event in ordered)
    busy, computing = _covered(ordered), _covered(event for event in ordered if not _reduces(event))
    gaps: dict[tuple[str, str], tuple[float, int]] = {}
    last = ordered[0]
    for event in ordered[1:]:
        if event.start > last.end:
            seconds, number = gaps.get((last.name, event.name), (0.0, 0))
            gaps[last.name, event.name] = (seconds + event.start - last.end, number + 1)
        last = max(last, event, key=lambda each: each.end)
    by_kernel: dict[str, float] = {}
    for event in ordered:
        by_kernel[event.name] = by_kernel.get(event.name, 0.0) + event.end - event.start
    return Timeline(end - begin, computing, busy - computing, end - begin - busy, len(ordered), gaps, by_kernel)


def _reduces(event: Event) -> bool:
    return event.name.startswith("nccl")


def _covered(events: Iterable[Event]) -> float:
    """Seconds in which at least one of the events runs; they are in the order of their starts."""
    total, until = 0.0, float("-inf")
    for event in events:
        total += max(0.0, event.end - max(event.start, until))
        until = max(until, event.end)
    return total


def read(folder: Path) -> dict[str, list[Event]]:
    """The events of each GPU in the newest record below `folder`."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2  # not public, but with every TensorFlow

    newest = max(folder.rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime)
    space = xplane_pb2.XSpace()
    space.ParseFromString(newest.read_bytes())
    return {
        plane.name.rsplit(":", 1)[1]: [
            Event(
                plane.event_metadata[event.metadata_id].name,
                line.timestamp_ns / 1e9 + event.offset_ps / 1e12,
                line.timestamp_ns / 1e9 + (event.offset_ps + event.duration_ps) / 1e12,
            )
            for line in plane.lines
            if line.name.startswith("Stream")
            for event in line.events
        ]
        for plane in space.planes
        if plane.name.startswith("/device:GPU:")
    }
