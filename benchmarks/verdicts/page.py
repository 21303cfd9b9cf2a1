"""Writes the tables into docs/verdicts.md, between its markers, and every count into a file beside the pool."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

from benchmarks.verdicts.bars import Bar, ahead
from benchmarks.verdicts.experiment import Real, Simulated, Size
from benchmarks.verdicts.gates import IDENTICAL, NOW_ROUNDS, Slowdown, Where
from benchmarks.verdicts.ours import TOLERANCE
from benchmarks.verdicts.peers import PEERS
from benchmarks.verdicts.pool import Pool
from benchmarks.verdicts.simulate import Noise, noises, slowdowns
from benchmarks.verdicts.tally import OWN_NAMES, Tally, own_name
from benchmarks.verdicts.words import count, percent, table

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
PAGE = Path(__file__).parents[2] / "docs" / "verdicts.md"
COUNTS = Path(__file__).parent / "data" / "counts.csv.gz"

_SIZES = sorted({slowdown.size for slowdown in slowdowns()})
_NAMES = (*OWN_NAMES, *(peer.name for peer in PEERS))


def write_between_markers(page: Path, results: str) -> None:
    """Replace what stands between the markers.

    Raises:
        ValueError: the page has no markers.
    """
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no lines {BEGIN!r} and {END!r} to write the results between; put them back")
    page.write_text(f"{before}{BEGIN}\n{results.strip()}\n{END}{after}")


def write_counts(path: Path, results: Simulated) -> None:
    """Every count of the simulation, one line for each judge of each setting; the same counts give the same file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["cv", "drift", "shape", "slowdown", "where", "judge", "gates", "alarms", "rounds", "undecided"])
    for noise in noises():
        for slowdown in (IDENTICAL, *slowdowns()):
            for name, each in results[noise, slowdown].items():
                own = [each.rounds, each.undecided] if name in OWN_NAMES else ["", ""]
                setting = [noise.cv, noise.drift, noise.shape, slowdown.size, slowdown.where]
                writer.writerow([*setting, name, each.gates, each.alarms, *own])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def bars_table(bars: list[Bar]) -> str:
    return table(
        ["promise", "", "figures"], [[bar.promise, "met" if bar.met else "**missed**", bar.figures] for bar in bars]
    )


def peers_table() -> str:
    return table(["peer", "rule", "decided by"], [[peer.name, peer.rule, peer.version] for peer in PEERS])


def false_alarms_table(results: Simulated) -> str:
    """Share of gates of identical code that raised an alarm; our own with the 95 % interval."""
    return table(
        ["identical code", *_NAMES],
        [[str(noise), *(_share(results[noise, IDENTICAL], name) for name in _NAMES)] for noise in noises()],
    )


def detection_table(results: Simulated, where: Where) -> str:
    """Share of slowed gates that raised an alarm, at each size of the slowdown."""
    rows = []
    for noise in noises():
        cells = (
            " / ".join(f"{100 * results[noise, Slowdown(size, where)][name].share:.0f}" for size in _SIZES)
            for name in _NAMES
        )
        rows.append([str(noise), *cells])
    return table([f"caught of {' / '.join(f'{100 * size:g} %' for size in _SIZES)} in {where}", *_NAMES], rows)


def cost_table(results: Simulated) -> str:
    """Rounds that our gates used, of the fixed design's, and gates that stayed open."""

    def cells(noise: Noise) -> list[str]:
        row = []
        for name in OWN_NAMES:
            for slowdown in (IDENTICAL, Slowdown(0.10, "both")):
                each = results[noise, slowdown][name]
                row.append(f"{each.rounds / each.gates:.1f}")
            same = results[noise, IDENTICAL][name]
            row.append(percent(same.undecided / same.gates))
        return row

    head = [f"{name}: {what}" for name in OWN_NAMES for what in ("identical", "10 % in both", "undecided")]
    return table([f"rounds of {NOW_ROUNDS}", *head], [[str(noise), *cells(noise)] for noise in noises()])


def ahead_table(results: Simulated) -> str:
    """Where each peer is ahead of our judge, and what its false alarms are where it catches more."""
    rows = []
    for peer in PEERS:
        for own in OWN_NAMES:
            found = ahead(results, peer.name, own)
            shares = sorted(results[noise, IDENTICAL][peer.name].share for noise, _ in found.keener)
            rows.append(
                [
                    peer.name,
                    own,
                    f"{len(found.keener)} of {found.of_slowdowns}",
                    f"{percent(shares[0])} to {percent(shares[-1])}" if shares else "-",
                    f"{len(found.quieter)} of {found.of_noises}",
                ]
            )
    return table(["peer", "against", "catches more in", "with false alarms of", "has fewer false alarms in"], rows)


def real_table(results: Real) -> str:
    """False alarms and detection on real runs, as alarms of gates."""
    rows = []
    for draw, by_slowdown in results.items():
        for slowdown, tallies in by_slowdown.items():
            own = tallies[own_name(draw.sessions)]
            interval = f" [{', '.join(percent(each) for each in own.interval)}]" if draw.independent else ""
            cells = [f"{own.alarms} of {own.gates}{interval}", f"{own.rounds / own.gates:.1f}"]
            cells += [
                f"{tallies[peer.name].alarms} of {tallies[peer.name].gates}" if tallies[peer.name].gates else "-"
                for peer in PEERS
            ]
            rows.append([f"{slowdown}, {draw.order}", str(draw.sessions), *cells])
    return table(["real runs", "saved sessions", "tfperf", "rounds", *(peer.name for peer in PEERS)], rows)


def results_text(bars: list[Bar], simulated: Simulated, real: Real, pool: Pool | None, size: Size, took: str) -> str:
    """Everything between the markers."""
    parts = [
        f"Judged in {took}, with a tolerance of {percent(TOLERANCE)}. Every simulated setting has "
        f"{count(size.identical)} gates of identical code and {size.slow} of each slowdown; of those that a promise is "
        f"about {count(size.promised)}. Otava, which takes milliseconds for a gate, is given the first "
        f"{count(size.identical_for_slow_peers)} and {size.slow_for_slow_peers} of them.",
        "### What must hold",
        bars_table(bars),
        "### The peers",
        peers_table(),
        "### False alarms, simulated",
        false_alarms_table(simulated),
        "### Slowdowns caught, simulated, in percent",
        *(detection_table(simulated, where) for where in ("T(2)", "T(1)", "both")),
        "### Where a peer is ahead",
        ahead_table(simulated),
        "### What it costs",
        cost_table(simulated),
    ]
    if pool is not None:
        parts += ["### Real runs", pool_text(pool), real_table(real)]
    return "\n\n".join(parts)


def pool_text(pool: Pool) -> str:
    """What the pool is, and how noisy the machine was."""
    import numpy as np

    logs = np.log([block.step_times for block in pool.identical])
    near = np.diff(logs, axis=0).std(axis=0) / np.sqrt(2)
    return (
        f"{count(2 * len(pool.identical))} runs of identical code and {count(2 * len(pool.slow))} with steps that take "
        f"{percent(pool.slowdown)} longer, over {pool.hours:.1f} hours. The run CV is "
        + " and ".join(f"{percent(each)} of {arm}" for each, arm in zip(logs.std(axis=0, ddof=1), ("T(1)", "T(2)")))
        + "; from one run to the next, free of drift, "
        + " and ".join(percent(each) for each in near)
        + "."
    )


def _share(tallies: dict[str, Tally], name: str) -> str:
    each = tallies[name]
    if name not in OWN_NAMES:
        return percent(each.share)
    low, high = each.interval
    return f"{percent(each.share)} [{percent(low)}, {percent(high)}]"
