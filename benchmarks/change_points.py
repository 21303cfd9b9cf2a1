"""How often the change points of a history are wrong, and how soon real ones are found.

    python -m benchmarks.change_points [--scale 4]

Nights are simulated as the gates of docs/verdicts.md are, by the same functions: five runs a night, log-normal, with
heavy tails or spikes; days that differ by a drift that T(1) and T(2) share, plus a tenth of it for each. The value of
a night is the median of its runs, as `tfperf history` takes it. Prints the tables of docs/history.md; seeds are fixed.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from statistics import median

import numpy as np
from scipy.stats import beta

from benchmarks.verdicts.gates import Floats
from benchmarks.verdicts.simulate import SEED, Noise, noises, run_noise, session_effects
from pytest_tfperf.history.change_points import MIN_NIGHTS, ChangePoint, find_change_points
from pytest_tfperf.history.changes import NEAR_NIGHTS
from pytest_tfperf.units import format_percent

ROUNDS = 5
SERIES = 3
"""Of one arm: T(1), T(2) and E(2)."""
SUITES = (3, 54, 3000)
"""Series that are looked at: of one arm, of 24 arms in six sweeps, and of some thousand arms."""
NIGHTS = 60
QUIET_BEFORE = 20
STEP = 0.05
CREEP = 0.005
CREEP_NIGHTS = 20
AFTER = (3, 5, 10, 20)
_FEW_NOISES = (
    Noise(0.003, 0.0),
    Noise(0.003, 0.01),
    Noise(0.01, 0.0),
    Noise(0.01, 0.01),
    Noise(0.01, 0.01, "heavy tails"),
    Noise(0.01, 0.01, "spikes"),
    Noise(0.01, 0.03),
    Noise(0.03, 0.01),
)


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    hits: int
    of: int

    def __str__(self) -> str:
        return format_percent(self.hits / self.of, decimals=2 if self.hits < 0.1 * self.of else 0)

    @property
    def interval(self) -> str:
        """95 %, of C. J. Clopper and E. S. Pearson, Biometrika 26 (1934)."""
        low = beta.ppf(0.025, self.hits, self.of - self.hits + 1) if self.hits else 0.0
        high = beta.ppf(0.975, self.hits + 1, self.of - self.hits) if self.hits < self.of else 1.0
        return f"[{format_percent(low, decimals=2)}, {format_percent(high, decimals=2)}]"


def simulated(noise: Noise, count: int, nights: int, losses: Sequence[float] = (), tag: str = "") -> Floats:
    """Draw [count, series, nights] in logs: T(1), T(2) and E(2); T(2) loses `losses`, one for each of the last."""
    rng = np.random.default_rng([SEED, zlib.crc32(f"{noise}/{nights}/{tag}".encode())])
    step_times = session_effects(rng, noise, count, nights) + run_noise(rng, noise, count, nights, ROUNDS)
    speeds = -step_times
    if losses:
        speeds[:, nights - len(losses) :, :, 1] -= np.log1p(np.asarray(losses))[None, :, None]
    found: Floats = np.stack(
        [
            np.median(speeds[..., 0], axis=2),
            np.median(speeds[..., 1], axis=2),
            np.median(speeds[..., 1] - speeds[..., 0], axis=2),
        ],
        axis=1,
    )
    return found


def false_in_one_look(noise: Noise, looks: int) -> Share:
    """Looks at the three series of an arm that find anything, where nothing changed."""
    drawn = simulated(noise, looks, NIGHTS)
    return Share(sum(any(find_change_points(list(one), SERIES) for one in arm) for arm in drawn), looks)


def false_in_a_large_suite(noise: Noise, looks: int) -> Share:
    """The same for looks at 54 series."""
    size = SUITES[1]
    drawn = simulated(noise, looks * size // SERIES, NIGHTS, tag="suite").reshape(looks, size, NIGHTS)
    return Share(sum(any(find_change_points(list(one), size) for one in suite) for suite in drawn), looks)


def false_in_any_look(noise: Noise, arms: int) -> Share:
    """Arms of which anything is found in any night's look from the tenth on: 51 looks."""
    drawn = simulated(noise, arms, NIGHTS, tag="every night")
    return Share(
        sum(
            any(find_change_points(list(one[:night]), SERIES) for night in range(MIN_NIGHTS, NIGHTS + 1) for one in arm)
            for arm in drawn
        ),
        arms,
    )


def step_found(noise: Noise, arms: int, suite: int, after: int) -> Share:
    """Arms whose loss of 5 % is found so many nights after it came, near where it came, in T(2) or E(2)."""
    drawn = simulated(noise, arms, QUIET_BEFORE + after, [STEP] * after, tag="step")
    return Share(sum(any(_near(find_change_points(list(one), suite)) for one in arm[1:]) for arm in drawn), arms)


def creep_found(noise: Noise, arms: int, suite: int) -> tuple[Share, float]:
    """Arms whose creep is found by its last night, and the loss by then, in the median, where one looks every night."""
    losses = [(1 + CREEP) ** night - 1 for night in range(1, CREEP_NIGHTS + 1)]
    drawn = simulated(noise, arms, QUIET_BEFORE + CREEP_NIGHTS, losses, tag="creep")
    ends, first = 0, []
    for arm in drawn:
        seen = [
            night
            for night in range(1, CREEP_NIGHTS + 1)
            if any(_worse(find_change_points(list(one[: QUIET_BEFORE + night]), suite)) for one in arm[1:])
        ]
        ends += CREEP_NIGHTS in seen
        first.append(losses[seen[0] - 1] if seen else float("inf"))
    return Share(ends, arms), median(first)


def _worse(found: Iterable[ChangePoint]) -> bool:
    return any(point.log_change < 0 for point in found)


def _near(found: Iterable[ChangePoint]) -> bool:
    return any(point.log_change < 0 and abs(point.index - QUIET_BEFORE) <= NEAR_NIGHTS for point in found)


def _false_row(noise: Noise, *, scale: int) -> str:
    one, many = false_in_one_look(noise, 1000 * scale), false_in_a_large_suite(noise, 20 * scale)
    return f"| {noise} | {one} {one.interval} | {many} {many.interval} |"


def _any_row(noise: Noise, *, scale: int) -> str:
    found = false_in_any_look(noise, 50 * scale)
    return f"| {noise} | {found} {found.interval} |"


def _step_row(noise: Noise, *, scale: int) -> str:
    cells = [
        " / ".join(str(step_found(noise, 50 * scale, suite, after)).removesuffix(" %") for after in AFTER)
        for suite in SUITES
    ]
    return f"| {noise} | {' | '.join(cells)} |"


def _creep_row(noise: Noise, *, scale: int) -> str:
    cells = []
    for suite in SUITES[:2]:
        share, loss = creep_found(noise, 20 * scale, suite)
        cells.append(f"{share}, {format_percent(loss)}")
    return f"| {noise} | {' | '.join(cells)} |"


def _tables() -> Iterator[tuple[str, str, Callable[..., str], Sequence[Noise]]]:
    yield (
        "False change points in one look at 60 nights of nothing new",
        "| noise | 3 series | 54 series |",
        _false_row,
        tuple(noises()),
    )
    yield "The same in any of 51 nightly looks", "| noise | 3 series |", _any_row, _FEW_NOISES
    yield (
        f"A step of 5 % in T(2) after 20 nights: percent found {' / '.join(map(str, AFTER))} nights later",
        "| noise | 3 series | 54 series | 3,000 series |",
        _step_row,
        _FEW_NOISES,
    )
    yield (
        "A creep of 0.5 % a night in T(2) for 20 nights: found by then, and the loss at which it is first told",
        "| noise | 3 series | 54 series |",
        _creep_row,
        _FEW_NOISES,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=4, help="times 1,000 looks a setting (%(default)s)")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with get_context("spawn").Pool(given.processes) as pool:
        for title, header, row, settings in _tables():
            print(f"\n{title}\n\n{header}\n|{' --- |' * (header.count('|') - 1)}", flush=True)
            for line in pool.imap(partial(row, scale=given.scale), settings):
                print(line, flush=True)


if __name__ == "__main__":
    main()
