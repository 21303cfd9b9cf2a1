"""How many rounds a sweep may have, after which of them it is looked at, and how much of the session's time it gets."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.measurement.clock import Clock
from pytest_tfperf.records.arm import SweepSpec
from pytest_tfperf.records.look import Look
from pytest_tfperf.stats.spending import look_rounds

FEWEST = 2
"""Rounds without which nothing can be decided: one run says nothing of its noise."""
FEWEST_TO_SAVE = 3
"""Rounds without which a session does not show its noise well enough to be held against."""
_SAVING_FACTOR = 2
"""A baseline is measured once and used often: with twice the runs each gate against it decides sooner."""


@dataclass(frozen=True)
class Pace:
    """How far one sweep may go."""

    planned: int
    """Rounds at most."""
    fewest: int = FEWEST
    """Rounds that are measured even where there is no time for them."""
    seconds: float = inf
    """Time that the sweep should take at most."""
    stops_early: bool = True
    """False where all planned rounds are wanted, whatever is decided before."""

    def may_go_on(self, done: int, elapsed: float, next_round: float) -> bool:
        """Whether another round follows `done` of them, if it takes `next_round` seconds."""
        return done < min(self.fewest, self.planned) or (done < self.planned and elapsed + next_round <= self.seconds)

    def look(self, done: int, *, more: bool) -> Look | None:
        """The look to take after so many rounds; None where none is due. `more`: whether another round may follow."""
        due = look_rounds(self.planned) if self.stops_early else ()
        if more and done not in due:
            return None
        return Look(done, self.planned, final=not more and done < self.planned, alone=not self.stops_early)


def gate_rounds(config: PerfConfig, spec: SweepSpec) -> int:
    """Rounds of a gate at most, unless its command line says otherwise."""
    return spec.rounds or config.rounds


def planned_rounds(config: PerfConfig, spec: SweepSpec) -> int:
    """Rounds of this session at most: what the command line says, or else a gate's, or twice those to save."""
    if config.smoke:
        return 1
    return config.forced_rounds or gate_rounds(config, spec) * (_SAVING_FACTOR if config.save else 1)


class TimeBudget:
    """What is left of the time that a session may take; it runs from the start of the session.

    What the session waits for its turn on the devices does not count.
    """

    def __init__(self, config: PerfConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._end = clock.now() + config.max_time if config.max_time is not None else inf

    def put_off(self, seconds: float) -> None:
        """Have it end so much later."""
        self._end += seconds

    def pace(self, spec: SweepSpec, sweeps: int) -> Pace:
        """That of the next sweep, of `sweeps` that are still to be measured: each has an even share of what is left.

        What one sweep does not use, as it is decided early, is the others'. None is skipped: where nothing is left each
        has the fewest rounds that can decide, or be saved.
        """
        return Pace(
            planned=planned_rounds(self._config, spec),
            fewest=FEWEST_TO_SAVE if self._config.save else FEWEST,
            seconds=max(0.0, self._end - self._clock.now()) / max(1, sweeps),
            # What a suspect costs is an interval of all rounds: stopping at the first that tells would mislead.
            stops_early=not (self._config.save or spec.suspect),
        )
