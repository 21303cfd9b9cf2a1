"""Which of the things that may make training slow does: one verdict a suspect, and a sentence over all of them.

A suspect is tried by an arm without it beside one with it. It is cleared, or not, by the rule that floors are judged
by: only where the whole interval lies on one side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.units import format_number, format_percent

MATTERS = 1.1
"""Training without a suspect is at least this many times as fast, or it is not the cause."""


class Holds(Enum):
    """Whether a suspect is a cause."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class SuspectVerdict:
    """What an arm says of a suspect."""

    name: str
    holds: Holds
    gain: Estimate
    """How many times as fast training is without it; for a matter of counting, the whole job against one replica."""
    line: str


def try_suspect(name: str, speedup: Estimate) -> SuspectVerdict:
    """Judge by `speedup`, the throughput without the suspect over that with it in the same rounds."""
    holds = _holds(speedup)
    said = f"{name}: {holds.value}, {_shown(speedup)} as fast without it"
    if holds is Holds.YES:
        said += f", so it costs {format_percent(1 - 1 / speedup.value, decimals=0)} of the time"
    elif holds is Holds.UNDECIDED:
        said += f"; more rounds can tell whether it is {format_number(MATTERS, 2)} times"
    return SuspectVerdict(name, holds, speedup, f"{said}.")


def try_counting(name: str, efficiency: Estimate, workers: int) -> SuspectVerdict:
    """Judge whether one worker's steps were taken for the job's: then the job is faster than its workers look.

    `efficiency` is E(N), which is also a worker's steps over those of one replica alone.
    """
    job = Estimate(
        workers * efficiency.value,
        workers * efficiency.low,
        workers * efficiency.high,
        efficiency.confidence,
        efficiency.n,
    )
    holds = _holds(job)
    said = f"{name}: {holds.value}, the whole job makes {_shown(job)} the steps of one replica alone"
    if holds is Holds.YES:
        said += f", while a worker's own steps show {format_number(efficiency.value, 3)} times"
    elif holds is Holds.NO:
        said += ": it is no faster however steps are counted"
    else:
        said += "; more rounds can tell"
    return SuspectVerdict(name, holds, job, f"{said}.")


def doubted(tried: SuspectVerdict) -> SuspectVerdict:
    """The same of runs that something disturbed: they decide nothing here either."""
    line = f"{tried.name}: {Holds.UNDECIDED.value}, {_shown(tried.gain)}, as runs that count were disturbed."
    return replace(tried, holds=Holds.UNDECIDED, line=line)


def suspects_sentence(verdicts: Sequence[SuspectVerdict]) -> str:
    """One sentence over the suspects that were tried, causes first and the largest first; empty without any."""
    parts = []
    causes = sorted((v for v in verdicts if v.holds is Holds.YES), key=lambda v: -v.gain.value)
    if causes:
        parts.append("yes: " + ", ".join(f"{v.name} ({format_number(v.gain.value, 3)} times)" for v in causes))
    for holds in (Holds.NO, Holds.UNDECIDED):
        names = [v.name for v in verdicts if v.holds is holds]
        if names:
            parts.append(f"{holds.value}: " + ", ".join(names))
    return "; ".join(parts) + "." if parts else ""


def findings_of(tried: Iterable[tuple[str, Device, SuspectVerdict]]) -> tuple[str, ...]:
    """What the suspects that were tried add up to: one sentence for each file of tests, on each kind of device."""
    found: dict[tuple[str, Device], list[SuspectVerdict]] = {}
    for file, device, verdict in tried:
        found.setdefault((file, device), []).append(verdict)
    return tuple(f"{file}, suspects on {device}: {suspects_sentence(v)}" for (file, device), v in found.items())


def _holds(gain: Estimate) -> Holds:
    if gain.n < 2:
        return Holds.UNDECIDED
    if gain.low >= MATTERS:
        return Holds.YES
    return Holds.NO if gain.high < MATTERS else Holds.UNDECIDED


def _shown(gain: Estimate) -> str:
    value = f"{format_number(gain.value, 3)} times"
    if gain.n < 2:
        return f"{value} (one round)"
    return f"{value} [{format_number(gain.low, 3)}, {format_number(gain.high, 3)}]"
