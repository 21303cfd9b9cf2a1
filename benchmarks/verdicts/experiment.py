"""Runs the comparison: every setting's gates through every judge, on all the processes there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

from benchmarks.verdicts.gates import IDENTICAL, SESSIONS, Gates, Slowdown
from benchmarks.verdicts.peers import PEERS
from benchmarks.verdicts.pool import Pool, at_random, in_order, length
from benchmarks.verdicts.simulate import Noise, noises, simulate, slowdowns
from benchmarks.verdicts.tally import Tally, tally

_CHUNK = 1000
_AGAIN = 1_000_000
"""First chunk of gates that no setting has met before; a chunk's number is its seed."""
TIMES_AGAIN = 4


@dataclass(frozen=True)
class Size:
    """How many gates a setting is given."""

    identical: int
    slow: int
    """Of each of the slowdowns."""
    promised: int
    """Of a slowdown of which it is promised how often it is caught."""
    identical_for_slow_peers: int
    slow_for_slow_peers: int
    shuffles: int
    """Random orders of the pool of real runs."""

    def scaled_to(self, identical: int) -> Size:
        """The same with so many gates of identical code, and all else in proportion, at least 5 of each."""

        def part(gates: int) -> int:
            return max(5, round(gates * identical / self.identical))

        return Size(
            identical, part(self.slow), part(self.promised), part(self.identical_for_slow_peers),
            part(self.slow_for_slow_peers), self.shuffles,
        )  # fmt: skip


FULL = Size(
    identical=20_000, slow=500, promised=4_000, identical_for_slow_peers=2_000, slow_for_slow_peers=200, shuffles=100
)
QUICK = Size(identical=300, slow=30, promised=100, identical_for_slow_peers=30, slow_for_slow_peers=5, shuffles=5)

Simulated = dict[tuple[Noise, Slowdown], dict[str, Tally]]


@dataclass(frozen=True)
class _Work:
    noise: Noise
    slowdown: Slowdown
    gates: int
    chunk: int
    for_slow_peers: int
    peers: bool = True


def is_promised(noise: Noise, slowdown: Slowdown) -> bool:
    """Whether the slowdown is one of 5 % at a run CV of 1 %; with spikes the run CV is no longer 1 % but about 6 %."""
    return noise.cv == 0.01 and not noise.drift and noise.shape != "spikes" and slowdown.size == 0.05


def run_simulation(size: Size, processes: int, progress: Callable[[str], None], *, peers: bool = True) -> Simulated:
    """Judge the simulated gates of every setting, identical and slowed; `peers` False: by our judge alone."""
    return _simulated([replace(each, peers=peers) for each in _work(size)], processes, progress)


def run_again(
    cells: Collection[tuple[Noise, Slowdown]],
    size: Size,
    processes: int,
    progress: Callable[[str], None],
    *,
    peers: bool = True,
) -> Simulated:
    """Judge other gates of some settings and slowdowns, and of identical code in these, `TIMES_AGAIN` as many.

    Of thousands of comparisons some come out beyond chance by chance: what is so of other gates too is not by chance.
    """
    wanted = {*cells, *((noise, IDENTICAL) for noise, _ in cells)}
    larger = size.scaled_to(TIMES_AGAIN * size.identical)
    work = [
        replace(each, chunk=_AGAIN + each.chunk, peers=peers)
        for each in _work(larger)
        if (each.noise, each.slowdown) in wanted
    ]
    return _simulated(work, processes, progress)


def _simulated(work: Sequence[_Work], processes: int, progress: Callable[[str], None]) -> Simulated:
    results: Simulated = {}
    with get_context("spawn").Pool(processes) as workers:
        for done, (item, counts) in enumerate(workers.imap_unordered(_do, work), 1):
            cell = results.setdefault((item.noise, item.slowdown), {})
            for name, count in counts.items():
                cell[name] = cell.get(name, Tally()) + count
            progress(f"simulated gates: {100 * done // len(work)} %")
    return results


def _work(size: Size) -> Iterator[_Work]:
    for noise in noises():
        for slowdown in (IDENTICAL, *slowdowns()):
            same = slowdown == IDENTICAL
            left = size.identical if same else size.promised if is_promised(noise, slowdown) else size.slow
            for_slow_peers = size.identical_for_slow_peers if same else size.slow_for_slow_peers
            for chunk in range(-(-left // _CHUNK)):
                gates = min(_CHUNK, left - chunk * _CHUNK)
                yield _Work(noise, slowdown, gates, chunk, max(0, min(gates, for_slow_peers - chunk * _CHUNK)))


def _do(work: _Work) -> tuple[_Work, dict[str, Tally]]:
    gates = simulate(work.noise, work.slowdown, work.gates, work.chunk)
    return work, tally(gates, work.for_slow_peers, PEERS if work.peers else ())


@dataclass(frozen=True)
class Draw:
    """One way of drawing gates from the pool of real runs."""

    order: str
    sessions: int
    independent: bool
    """True where no two of the gates share a run, so that an interval of the share means something."""


Real = dict[Draw, dict[Slowdown, dict[str, Tally]]]


def run_pool(pool: Pool, size: Size, progress: Callable[[str], None]) -> Real:
    """Judge gates drawn from the pool, identical and slowed; a draw that the pool is too small for is left out."""
    results: Real = {}
    for draw, gates_of in _draws(pool, size.shuffles):
        for slowdown in (IDENTICAL, Slowdown(pool.slowdown)):
            progress(f"gates of real runs: {draw.order}, {slowdown}")
            gates = gates_of(slow=slowdown != IDENTICAL)
            if gates is not None:
                results.setdefault(draw, {})[slowdown] = tally(gates)
    return results


def _draws(pool: Pool, shuffles: int) -> Iterator[tuple[Draw, Callable[..., Gates | None]]]:
    for sessions in SESSIONS:
        apart = partial(in_order, pool, sessions, every=length(sessions))
        yield Draw("in time, no run in two gates", sessions, True), apart
        yield Draw("in time, one from every block", sessions, False), partial(in_order, pool, sessions, every=1)
        mixed = partial(at_random, pool, sessions, shuffles=shuffles)
        yield Draw(f"at random, {shuffles} times", sessions, False), mixed
