"""Which rank is slow by itself. Where all wait for the slowest one, their step times are alike and tell nothing."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pytest_tfperf.records.run import Run
from pytest_tfperf.stats.odd_one_out import surely_above
from pytest_tfperf.units import format_seconds

SLOWER = 0.10
"""A rank this much slower than the median of the others is worth a sentence; between equal devices some percent are
usual."""
CHANCE = 0.005
"""That one of equal ranks is named for its noise, however large that is. People look for the fault of a rank that is
named, so a wrong name costs more than one that comes a round later."""
_LISTED = 8
"""Ranks shown one by one; of more only the slowest are."""


def own_pace_lines(runs: Sequence[Run]) -> tuple[str, ...]:
    """Each rank's own step time, median over the runs, and the skew: the slowest over the median rank.

    Nothing where there are fewer than two ranks, or where the strategy does not tell.
    """
    rounds = _paces(runs)
    if not rounds:
        return ()
    middle = {task: median([paces[task] for paces in rounds]) for task in rounds[0]}
    skew = median([max(paces.values()) / median(list(paces.values())) for paces in rounds])
    if len(middle) <= _LISTED:
        shown = ", ".join(f"{task} {format_seconds(seconds)}" for task, seconds in middle.items())
    else:
        slowest = sorted(middle.items(), key=lambda item: -item[1])[:3]
        shown = f"median {format_seconds(median(list(middle.values())))}, slowest " + ", ".join(
            f"{task} {format_seconds(seconds)}" for task, seconds in slowest
        )
    return (f"own step time by rank: {shown}; skew {skew:.2f}",)


def stragglers(runs: Sequence[Run]) -> tuple[str, ...]:
    """A sentence for each rank that is slower than the others in most rounds, and by more than noise.

    Each round compares the ranks of one run, so what slows all of them cancels. One round cannot tell a slow rank from
    a rank that was held up once: it names none.
    """
    rounds = _paces(runs)
    if len(rounds) < 2:
        return ()
    found = []
    above = surely_above([list(paces.values()) for paces in rounds], CHANCE)
    for task, sure in zip(rounds[0], above):
        others = [median([pace for name, pace in paces.items() if name != task]) for paces in rounds]
        slow = sum(paces[task] / other > 1 + SLOWER for paces, other in zip(rounds, others))
        if not sure or 2 * slow <= len(rounds):
            continue
        own, rest = median([paces[task] for paces in rounds]), median(others)
        note = next((run.gpu_notes[task] for run in reversed(runs) if task in run.gpu_notes), "")
        found.append(
            f"Straggler: {task} needs {format_seconds(own)} for its own part of a step, "
            f"the others {format_seconds(rest)} ({slow} of {len(rounds)} rounds)" + (f"; {note}" if note else "") + "."
        )
    return tuple(found)


def _paces(runs: Sequence[Run]) -> list[dict[str, float]]:
    """Own step time in seconds of each rank by its name, for every run in which all of two or more ranks have one."""
    found = []
    for run in runs:
        paces = {str(task.task): task.own_step_time for task in run.tasks}
        known = {name: pace for name, pace in paces.items() if pace is not None and pace > 0}
        if len(known) == len(paces) > 1:
            found.append(known)
    return found
