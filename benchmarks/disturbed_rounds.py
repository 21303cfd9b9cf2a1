"""What to do about disturbed rounds: how often each rule is wrong, and how much it still catches.

    python -m benchmarks.disturbed_rounds [--gates 2000]

Gates are those of docs/verdicts.md, from the same function: a session of ten saved rounds, five rounds now, log-normal
noise. Beyond that a round now is disturbed with a given chance, independently of the others, or the first two are: one
of its two runs takes 5 to 100 % longer, and both arms' undisturbed runs of such a gate `--under-limit` longer, which is
what nothing sees. Three rules judge the very same gates, look by look as a gate does. Prints the table of
docs/verdicts.md; seeds are fixed.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from benchmarks.verdicts.gates import IDENTICAL, NOW_ROUNDS, Bools, Floats, Slowdown
from benchmarks.verdicts.ours import FIRST_LOOK, entry_of, verdict_at
from benchmarks.verdicts.simulate import SEED, Noise, simulate
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.records.counting import Disturbed, counting, may_count
from pytest_tfperf.units import format_percent

CHANCES = (0.1, 0.3, 0.5, None)
"""Of a round to be disturbed; None: the first two are, and no other."""
SLOWDOWNS = (IDENTICAL, Slowdown(0.05, "T(2)"), Slowdown(0.20, "T(2)"), Slowdown(9.0, "T(2)"))
LONGER = (0.05, 1.0)
NOISES = (Noise(0.01, 0.0), Noise(0.01, 0.01))


@dataclass(frozen=True)
class Rounds:
    """What a rule makes of the rounds so far."""

    counting: Sequence[int]
    doubted: bool = False
    """Whether nothing may be decided."""
    go_on: bool = False
    """Whether more rounds may mend that."""


Rule = Callable[[Sequence[int], set[int]], Rounds]


def ignored(rounds: Sequence[int], disturbed: set[int]) -> Rounds:
    return Rounds(rounds)


def nothing_decided(rounds: Sequence[int], disturbed: set[int]) -> Rounds:
    return Rounds(rounds, doubted=bool(disturbed))


def left_out(rounds: Sequence[int], disturbed: set[int]) -> Rounds:
    seen = Disturbed(frozenset(disturbed))
    found = counting(rounds, seen)
    return Rounds(found, bool(disturbed.intersection(found)), may_count(rounds, seen, NOW_ROUNDS))


RULES: dict[str, Rule] = {
    "all count": ignored,
    "one of them, and nothing is decided": nothing_decided,
    "left out, where the rest is fit to decide": left_out,
}


def disturb(now: Floats, chance: float | None, under_limit: float, seed: int) -> tuple[Floats, Bools]:
    """Disturb step times, [gates, rounds, arms]; with them which rounds were, [gates, rounds]."""
    rng = np.random.default_rng([SEED, seed])
    gates, rounds, arms = now.shape
    drawn = rng.random((gates, rounds))
    disturbed: Bools = np.broadcast_to(np.arange(rounds) < 2, drawn.shape) if chance is None else drawn < chance
    hit = disturbed[..., None] & (np.arange(arms) == rng.integers(arms, size=(gates, rounds, 1)))
    longer = np.where(hit, 1 + rng.uniform(*LONGER, (gates, rounds, arms)), 1.0)
    return now * longer * np.where(disturbed.any(axis=1), 1 + under_limit, 1.0)[:, None, None], disturbed


def judge(saved: Floats, now: Floats, disturbed: Bools, rule: Rule) -> tuple[Verdict, int]:
    """One gate: [sessions, rounds, arms], [rounds, arms] and [rounds] in; the verdict and the rounds it took out."""
    baseline = entry_of(saved)
    for number in range(FIRST_LOOK, NOW_ROUNDS + 1):
        found = rule(range(1, number + 1), {1 + place for place in range(number) if disturbed[place]})
        places = [round - 1 for round in found.counting]
        reference, own = (tuple(float(each) for each in now[places, arm]) for arm in (0, 1))
        doubts = ["others ran"] if found.doubted else []
        verdict = verdict_at(number, reference, own, baseline, disturbed=doubts, may_be_undisturbed=found.go_on)
        if verdict.settled:
            break
    return verdict.verdict, number


def row(noise: Noise, chance: float | None, slowdown: Slowdown, gates: int, under_limit: float) -> list[str]:
    drawn = simulate(noise, slowdown, gates)
    now, disturbed = disturb(drawn.now, chance, under_limit, zlib.crc32(f"{noise}{chance}{slowdown}".encode()))
    which = "the first two" if chance is None else format_percent(chance, decimals=0)
    cells = [str(noise), which, str(slowdown)]
    for rule in RULES.values():
        judged = [judge(drawn.saved[gate, -1:], now[gate], disturbed[gate], rule) for gate in range(gates)]
        count = Counter(verdict for verdict, _ in judged)
        rounds = sum(took for _, took in judged) / gates
        shares = (format_percent(count[each] / gates) for each in (Verdict.REGRESSED, Verdict.INCONCLUSIVE))
        cells.append(f"{', '.join(shares)}, {rounds:.1f}")
    return cells


def table(rows: Iterable[Sequence[str]]) -> str:
    head = ["noise", "rounds disturbed", "T(2)'s step", *RULES]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=2000, help="of each setting (default: 2000)")
    parser.add_argument("--under-limit", type=float, default=0.0, help="as a fraction of a step (default: 0)")
    options = parser.parse_args()
    work = [(noise, chance, slowdown) for noise in NOISES for chance in CHANCES for slowdown in SLOWDOWNS]
    do = partial(row, gates=options.gates, under_limit=options.under_limit)
    with get_context("spawn").Pool() as pool:
        print(f"{options.gates} gates of each setting: regressed, inconclusive, rounds")
        print(table(pool.starmap(do, work)))


if __name__ == "__main__":
    main()
