"""From what was seen of host and GPUs to what disturbed a run: sentences with figures and names. Pure.

A limit is where a disturbance reaches the size of what a gate is to see, a few percent of a run's time, and stays above
what a quiet machine shows by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from pytest_tfperf.records.health import GpuSample, GpuUse, HostUse
from pytest_tfperf.units import format_bytes, format_number, format_percent, format_seconds, plural

SEEN_SHARE = 0.05
"""Of the run's cores, for programs of others that can be seen. A daemon uses a percent of a core; the kernel knows a
program's time to the nanosecond, so that nothing need be allowed for its errors."""
UNSEEN_SHARE = 0.15
"""The same where the kernel only tells that a core was busy, not by whom: it looks at a core at every tick, 100 times a
second or a few times that, and so misjudges one that is half idle by some 4 % in a run of two seconds."""
IDLE_SHARE = 0.25
"""Where tasks are not pinned, programs of others go to idle cores as long as there are this many of them."""
STOLEN_SHARE = 0.05
"""Of the run's cores, for other virtual machines: one of two cores that did nothing else was seen to lose 2 to 4 %."""
STOLEN_UNPINNED_SHARE = 0.15
"""The same where tasks are not pinned, as on GPUs: what is taken from one core goes on at another. Virtual machines
with H100s and 64 cores lost 3 to 12 % of them whenever many programs ran, at throughputs that stayed the same."""
SWAPPED_IN = 1e6
"""Bytes: 250 pages at some 100 us each are a percent of a run's two seconds."""
SWAPPED_OUT = 10e6
"""Bytes; writing does not stop a program, but it says that memory ran out."""
MEMORY_STALLED_SHARE = 0.05
"""Of the time, in which some program waited for memory to be freed."""
THERMAL_SHARE = 0.01
"""Of the time, in which heat or a limit of the board kept a GPU's clock down."""
CLOCK_DROP = 0.10
"""Under the median clock of the run's other GPUs. Chips of one model differ by a few percent at the same power."""

# NVML's bits for why a clock is not higher (nvml.h, nvmlClocksEventReasons). Not here: an idle GPU (1), clocks that
# somebody set (2, 256) and the sync boost of a group (16), which are settings; and the power cap (4). NVML describes
# that one as the power scaling algorithm keeping the GPU under its limit: a GPU at full load on large matrices runs at
# that limit all the time, so that it belongs to the model's speed. Two things make it a disturbance, and each is looked
# at by itself: a limit below the default, and a clock below that of the other GPUs.
_REASONS = {
    0x20: "too hot (SW thermal slowdown)",
    0x40: "too hot (HW thermal slowdown)",
    0x80: "power supply (HW power brake)",
    0x08: "heat or power supply (HW slowdown)",
}


def host_disturbances(use: HostUse | None) -> tuple[str, ...]:
    """What at the host disturbed the timed windows."""
    if use is None or use.seconds <= 0:
        return ()
    found = list(host_outside(use))
    if use.swapped_in is not None and use.swapped_in > SWAPPED_IN:
        found.append(f"{format_bytes(use.swapped_in)} were swapped in")
    if use.swapped_out is not None and use.swapped_out > SWAPPED_OUT:
        found.append(f"{format_bytes(use.swapped_out)} were swapped out")
    stalled = use.stalled.get("memory", 0.0) / use.seconds
    if stalled > MEMORY_STALLED_SHARE:
        found.append(f"programs waited for memory {format_percent(stalled, decimals=0)} of the time")
    return tuple(found)


def host_outside(use: HostUse | None) -> tuple[str, ...]:
    """Those of `host_disturbances` that what is run has nothing to do with: what others did with the cores.

    Swap and memory pressure are not among them: it may be the run that needs too much memory.
    """
    if use is None or use.seconds <= 0:
        return ()
    found = [_others(use)]
    stolen_share = STOLEN_SHARE if use.scope.pinned else STOLEN_UNPINNED_SHARE
    if use.stolen is not None and use.stolen > stolen_share * len(use.scope.cores) * use.seconds:
        found.append(
            f"other virtual machines took {format_number(use.stolen / use.seconds, 2)} of {_cores(use)} (steal time)"
        )
    return tuple(filter(None, found))


def gpu_disturbances(uses: Sequence[GpuUse], start: float, end: float) -> tuple[str, ...]:
    """What disturbed the GPUs; `start` and `end` of the timed windows in monotonic seconds."""
    clocks = {use.before.uuid: clock_of(use, start, end) for use in uses}
    found = list(lasting_disturbances(uses))
    for use in uses:
        others = [clock for uuid, clock in clocks.items() if uuid != use.before.uuid and clock is not None]
        found += _throttled(use, start, end)
        found += _slow_clock(use, clocks[use.before.uuid], others)
        found += _corrected_errors(use)
        found += gpu_outside([use])
    return tuple(found)


def gpu_outside(uses: Sequence[GpuUse]) -> tuple[str, ...]:
    """Those of `gpu_disturbances` that what is run has nothing to do with; heat may be the run's own."""
    return tuple(
        f"{use.label} was used by others before the run: "
        + ", ".join(f"{name} (pid {pid})" for pid, name in sorted(use.foreign.items()))
        for use in uses
        if use.foreign
    )


def lasting_disturbances(uses: Sequence[GpuUse]) -> tuple[str, ...]:
    """Those of the GPUs' that another run would show again: somebody has to do something about them."""
    return tuple(line for use in uses for line in (*_power_limit(use), *_bad_memory(use)))


def clock_of(use: GpuUse, start: float, end: float) -> float | None:
    """Median clock in MHz over the timed windows; None where it is not known."""
    clocks = [sample.clock for sample in _within(use.samples, start, end) if sample.clock]
    return median(clocks) if clocks else None


def gpu_note(use: GpuUse, uses: Sequence[GpuUse], start: float, end: float) -> str:
    """What may explain that this GPU is slow, as a clause for another sentence; empty where nothing is known."""
    clocks = {each.before.uuid: clock_of(each, start, end) for each in uses}
    own = clocks.pop(use.before.uuid)
    others = [clock for clock in clocks.values() if clock is not None]
    if own is not None and others and own < (1 - CLOCK_DROP) * median(others):
        return f"its clock was {format_number(own)} MHz, the others' {format_number(median(others))} MHz"
    reasons = _held_down(use, start, end)
    return f"its clock was held down: {reasons}" if reasons else ""


def _others(use: HostUse) -> str:
    """Programs of others on the run's cores; empty where they used little, or where it cannot be known."""
    cores, seconds = len(use.scope.cores), use.seconds
    if use.own is None or use.seen is None or not cores:
        return ""
    rest = None if use.busy is None else max(0.0, use.busy - use.own)
    seen = use.seen if rest is None else min(use.seen, rest)
    if rest is not None and rest > UNSEEN_SHARE * cores * seconds:
        used = rest
    elif seen > SEEN_SHARE * cores * seconds:
        used = seen
    else:
        return ""
    busy = use.own + used if use.busy is None else use.busy
    if not use.scope.pinned and busy < (1 - IDLE_SHARE) * cores * seconds:
        return ""
    text = f"other programs used {format_number(used / seconds, 2)} of {_cores(use)}"
    # A name explains only what it has used.
    names = [f"{name} {format_number(time / seconds, 2)}" for name, time in use.top if time > 0.1 * used]
    if seen > used / 2 and names:
        text += f" ({', '.join(names)})"
    waited = use.stalled.get("cpu")
    if waited is not None:
        text += f"; something waited for a core {format_percent(min(1.0, waited / seconds), decimals=0)} of the time"
    if use.scope.load is not None:
        text += f"; the load before the run was {format_number(use.scope.load, 2)}"
    return text


def _cores(use: HostUse) -> str:
    count = len(use.scope.cores)
    return f"{count} core" if count == 1 else f"{count} cores"


def _within(samples: Sequence[GpuSample], start: float, end: float) -> list[GpuSample]:
    """The samples in the timed windows; where those are so short that there is none, the nearest one."""
    inside = [sample for sample in samples if start <= sample.time <= end]
    if inside or not samples:
        return inside
    middle = (start + end) / 2
    return [min(samples, key=lambda sample: abs(sample.time - middle))]


def _throttled(use: GpuUse, start: float, end: float) -> list[str]:
    # By counters, which miss nothing between two samples, from the last sample before the windows on.
    span = [(one, other) for one, other in pairwise(use.samples) if other.time > start and one.time < end]
    seconds = sum(other.time - one.time for one, other in span)
    heat = sum(
        (other.thermal or 0.0) - (one.thermal or 0.0) for one, other in span if _both(one.thermal, other.thermal)
    )
    board = sum((other.board or 0.0) - (one.board or 0.0) for one, other in span if _both(one.board, other.board))
    reasons = _held_down(use, start, end)
    held = max(heat, board)
    if held > THERMAL_SHARE * seconds > 0:
        why = reasons or ("too hot" if heat >= board else "a limit of its board")
        return [f"{use.label} was throttled for {format_seconds(min(held, seconds))} of the run: {why}"]
    if reasons:
        samples = _within(use.samples, start, end)
        count = sum(1 for sample in samples if _bits(sample))
        return [f"{use.label} was throttled in {count} of {len(samples)} looks: {reasons}"]
    return []


def _both(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None


def _bits(sample: GpuSample) -> list[int]:
    return [bit for bit in _REASONS if (sample.reasons or 0) & bit]


def _held_down(use: GpuUse, start: float, end: float) -> str:
    """The reasons that kept the clock down in the timed windows; the general one only where no other is given."""
    bits = {bit for sample in _within(use.samples, start, end) for bit in _bits(sample)}
    if len(bits) > 1:
        bits.discard(0x08)
    return ", ".join(text for bit, text in _REASONS.items() if bit in bits)


def _slow_clock(use: GpuUse, own: float | None, others: Sequence[float]) -> list[str]:
    if own is None or not others or own >= (1 - CLOCK_DROP) * median(others):
        return []
    capped = any((sample.reasons or 0) & 0x04 for sample in use.samples)
    return [
        f"{use.label} ran at {format_number(own)} MHz, the run's other GPUs at {format_number(median(others))} MHz"
        + (": power cap (SW power cap)" if capped else "")
    ]


def _power_limit(use: GpuUse) -> list[str]:
    limit, default = use.after.power_limit, use.after.default_power_limit
    # Less a watt: both are rounded by the driver.
    if limit is None or default is None or limit >= default - 1:
        return []
    return [
        f"{use.label} has a power limit of {format_number(limit, 3)} W, under its default of "
        f"{format_number(default, 3)} W"
    ]


def _corrected_errors(use: GpuUse) -> list[str]:
    before, after = use.before.corrected_errors, use.after.corrected_errors
    if before is None or after is None or after <= before:
        return []
    return [f"{use.label} corrected {plural(after - before, 'memory error')} (ECC) during the run"]


def _bad_memory(use: GpuUse) -> list[str]:
    found = []
    if use.after.uncorrected_errors:
        errors = plural(use.after.uncorrected_errors, "uncorrected memory error")
        found.append(f"{use.label} has had {errors} (ECC) since its driver was loaded")
    if use.after.remap_pending:
        found.append(f"{use.label} waits for a reset to replace a bad row of its memory")
    return found
