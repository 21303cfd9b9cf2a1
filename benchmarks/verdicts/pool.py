"""Gates drawn from a pool of real runs, as `collect` made it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.verdicts.gates import NOW_ROUNDS, SAVED_ROUNDS, Floats, Gates

DEFAULT_POOL = Path(__file__).parent / "data" / "pool.jsonl.gz"
SEED = 20261128
NIGHTS = 30
_LABELS = ("T(1)", "T(2)")


@dataclass(frozen=True)
class Block:
    """A run of T(1) and one of T(2) that followed each other, as in a round of a gate."""

    at: float
    """When the first of the two began; seconds since 1970."""
    slowdown: float
    step_times: Floats
    """[arms], of one example: seconds x replicas / examples."""
    steps: Floats
    """[steps, arms]: seconds."""


@dataclass(frozen=True)
class Pool:
    """Blocks in the order in which they were measured."""

    identical: tuple[Block, ...]
    slow: tuple[Block, ...]

    @property
    def runs(self) -> int:
        return 2 * (len(self.identical) + len(self.slow))

    @property
    def slowdown(self) -> float:
        return self.slow[0].slowdown if self.slow else 0.0

    @property
    def hours(self) -> float:
        times = [block.at for block in (*self.identical, *self.slow)]
        return (max(times) - min(times)) / 3600

    def shuffled(self, rng: np.random.Generator) -> Pool:
        """The same blocks in random order: noise without drift."""
        return Pool(
            tuple(self.identical[index] for index in rng.permutation(len(self.identical))),
            tuple(self.slow[index] for index in rng.permutation(len(self.slow))),
        )


def read(path: Path) -> Pool:
    """Read the runs of a pool; a block of which only one arm was measured is left out.

    Raises:
        ValueError: a line is not a run, or no block is whole.
        OSError: the file cannot be read.
    """
    found: dict[int, dict[str, dict[str, object]]] = {}
    with gzip.open(path, "rt") as file:
        for number, line in enumerate(file, 1):
            try:
                run = json.loads(line)
                found.setdefault(run["block"], {})[run["arm"]] = run
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: not a run of a pool; collect it anew") from error
    blocks = [_block(runs) for _, runs in sorted(found.items()) if set(_LABELS) <= set(runs)]
    if not blocks:
        raise ValueError(f"{path}: no block has a run of both {' and '.join(_LABELS)}; collect for longer")
    return Pool(
        tuple(block for block in blocks if not block.slowdown), tuple(block for block in blocks if block.slowdown)
    )


def _block(runs: dict[str, dict[str, object]]) -> Block:
    pair = [runs[label] for label in _LABELS]
    steps = [np.asarray(run["steps"], dtype=float) for run in pair]
    shortest = min(len(each) for each in steps)
    return Block(
        at=min(float(str(run["at"])) for run in pair),
        slowdown=float(str(pair[0]["slowdown"])),
        step_times=np.array([count / float(str(run["throughput"])) for count, run in enumerate(pair, 1)]),
        steps=np.stack([each[:shortest] for each in steps], axis=1),
    )


def in_order(pool: Pool, sessions: int, *, slow: bool, every: int) -> Gates | None:
    """Gates of blocks that follow each other in time: saved sessions, then now; None where the pool has too few.

    Within a gate no run serves twice. Slowed blocks lie between the identical ones, so that the first ones after the
    saved sessions are as near in time as identical ones are.

    Args:
        every: identical blocks from the start of one gate to that of the next; with `length(sessions)` no two gates
            share a run, 1 makes the most of the pool.
    """
    gates = []
    saved_blocks = sessions * SAVED_ROUNDS
    for start in range(0, len(pool.identical) - saved_blocks + 1, every):
        saved = pool.identical[start : start + saved_blocks]
        after = pool.slow if slow else pool.identical
        now = [block for block in after if block.at > saved[-1].at][:NOW_ROUNDS]
        if len(now) == NOW_ROUNDS:
            gates.append((saved, now, pool.identical[: start + saved_blocks]))
    return _gates(gates, sessions)


def at_random(pool: Pool, sessions: int, *, slow: bool, shuffles: int) -> Gates | None:
    """Gates of blocks in random order, those of one shuffle sharing no run; None where the pool has too few."""
    rng = np.random.default_rng([SEED, sessions, slow])
    gates = []
    for _ in range(shuffles):
        mixed = pool.shuffled(rng)
        for saved, now, earlier in _cut(mixed, sessions, slow=slow):
            gates.append((saved, now, earlier))
    return _gates(gates, sessions)


def length(sessions: int) -> int:
    """Identical blocks that a gate of identical code takes."""
    return sessions * SAVED_ROUNDS + NOW_ROUNDS


_Parts = tuple[Sequence[Block], Sequence[Block], Sequence[Block]]


def _cut(pool: Pool, sessions: int, *, slow: bool) -> Iterator[_Parts]:
    """Saved blocks, blocks of now, and every identical block that comes before now in this order."""
    saved_blocks, own = sessions * SAVED_ROUNDS, 0 if slow else NOW_ROUNDS
    for number, start in enumerate(range(0, len(pool.identical) - saved_blocks - own + 1, saved_blocks + own)):
        end = start + saved_blocks
        now = pool.slow[number * NOW_ROUNDS :][:NOW_ROUNDS] if slow else pool.identical[end : end + NOW_ROUNDS]
        if len(now) == NOW_ROUNDS:
            yield pool.identical[start:end], now, pool.identical[:end]


def _gates(parts: Sequence[_Parts], sessions: int) -> Gates | None:
    if not parts:
        return None
    steps = min(len(block.steps) for saved, now, _ in parts for block in (*saved, *now))
    values = np.array([[block.step_times for block in saved] for saved, _, _ in parts])
    return Gates(
        saved=values.reshape(len(parts), sessions, SAVED_ROUNDS, -1),
        now=np.array([[block.step_times for block in now] for _, now, _ in parts]),
        saved_steps=np.array([[block.steps[:steps] for block in saved[-SAVED_ROUNDS:]] for saved, _, _ in parts]),
        now_steps=np.array([[block.steps[:steps] for block in now] for _, now, _ in parts]),
        history=[_nights(earlier) for _, _, earlier in parts],
    )


def _nights(earlier: Sequence[Block]) -> Floats:
    """[nights, arms]: means over as many blocks as a gate measures, counted back from its newest saved one."""
    nights = min(NIGHTS, len(earlier) // NOW_ROUNDS)
    if not nights:
        return np.empty((0, len(_LABELS)))
    last = np.array([block.step_times for block in earlier[len(earlier) - nights * NOW_ROUNDS :]])
    means: Floats = last.reshape(nights, NOW_ROUNDS, -1).mean(axis=1)
    return means
