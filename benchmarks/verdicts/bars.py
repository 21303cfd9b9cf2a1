"""What verdicts must keep to be trusted, checked on the simulated gates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.verdicts.experiment import TIMES_AGAIN, Simulated, is_promised
from benchmarks.verdicts.gates import IDENTICAL, NOW_ROUNDS, SESSIONS, Slowdown
from benchmarks.verdicts.peers import PEERS
from benchmarks.verdicts.simulate import Noise
from benchmarks.verdicts.tally import OWN_NAMES, Tally, fewer, own_name
from benchmarks.verdicts.words import count, percent

FALSE_ALARMS = 1 / 1000
FALSE_ALARMS_DRIFTING = 1 / 200
CAUGHT = 0.95
ROUNDS = 0.60
Cell = tuple[Noise, Slowdown]
_CHANCE = 0.01
"""How unlikely a difference on the same gates must be by chance to count as one."""


@dataclass(frozen=True)
class Bar:
    """One promise, and what came of it."""

    promise: str
    met: bool
    figures: str


def check(results: Simulated, again: Callable[[Collection[Cell]], Simulated]) -> list[Bar]:
    """Hold every bar against the counts; that about peers only where they were asked.

    `again` gives the counts of other gates of some cells: in which a peer seems better, beyond chance.
    """
    quiet = [key for key in results if key[1] == IDENTICAL and not key[0].drift]
    drifting = [key for key in results if key[1] == IDENTICAL and key[0].drift]
    return [
        _false_alarms(
            "False alarms at most 1 in 1,000 gates in every setting without drift",
            {_label(noise, name): results[noise, same][name] for noise, same in quiet for name in OWN_NAMES},
            FALSE_ALARMS,
        ),
        _false_alarms(
            "False alarms at most 1 in 200 gates with drift, once three sessions are saved",
            {str(noise): results[noise, same][own_name(max(SESSIONS))] for noise, same in drifting},
            FALSE_ALARMS_DRIFTING,
        ),
        _caught(results),
        _rounds(results),
        *([_no_peer_better(results, again)] if all(peer.name in results[quiet[0]] for peer in PEERS) else []),
    ]


def _label(noise: Noise, name: str) -> str:
    return f"{noise}, {name.rpartition(', ')[2]}"


def _false_alarms(promise: str, tallies: dict[str, Tally], most: float) -> Bar:
    over = sorted(
        (label for label, each in tallies.items() if each.share > most), key=lambda each: -tallies[each].share
    )
    worst = max(tallies, key=lambda label: tallies[label].share)
    low, high = tallies[worst].interval
    figures = (
        f"worst: {count(tallies[worst].alarms)} of {count(tallies[worst].gates)}, {percent(tallies[worst].share)} "
        f"[{percent(low)}, {percent(high)}], at {worst}"
    )
    if over:
        shown = "; ".join(f"{label}: {percent(tallies[label].share)}" for label in over)
        figures += f". Over in {len(over)} of {len(tallies)}: {shown}"
    return Bar(promise, not over, figures)


def _caught(results: Simulated) -> Bar:
    shares = {
        f"{slowdown}, {_label(noise, name)}": tallies[name]
        for (noise, slowdown), tallies in results.items()
        if is_promised(noise, slowdown)
        for name in OWN_NAMES
    }
    worst = min(shares, key=lambda label: shares[label].share)
    low, high = shares[worst].interval
    figures = f"worst: {percent(shares[worst].share)} [{percent(low)}, {percent(high)}], {worst}"
    under = [label for label, each in shares.items() if each.share < CAUGHT]
    if under:
        listed = "; ".join(f"{label}: {percent(shares[label].share)}" for label in under)
        figures += f". Under in {len(under)} of {len(shares)}: {listed}"
    return Bar(
        f"A slowdown of 5 % at run CV 1 % caught at least 95 % of the time within {NOW_ROUNDS} rounds",
        not under,
        figures,
    )


def _rounds(results: Simulated) -> Bar:
    """Each setting weighs the same, however many gates it was given."""
    used: dict[bool, list[float]] = {True: [], False: []}
    for (_, slowdown), tallies in results.items():
        for name in OWN_NAMES:
            used[slowdown == IDENTICAL].append(tallies[name].rounds / tallies[name].gates / NOW_ROUNDS)
    means = {same: sum(shares) / len(shares) for same, shares in used.items()}
    # A gate mostly runs on code that did not get slower, so the two halves weigh the same.
    mean = (means[True] + means[False]) / 2
    return Bar(
        f"Sequential stopping uses at most 60 % of the fixed {NOW_ROUNDS} rounds on average",
        mean <= ROUNDS,
        f"{percent(mean)}: {percent(means[True])} on identical code, {percent(means[False])} on slowed code",
    )


@dataclass(frozen=True)
class Better:
    """A peer that had fewer false alarms and caught more than our judge did, on the same gates."""

    peer: str
    own: str
    noise: Noise
    slowdown: Slowdown
    beyond_chance: bool

    @property
    def cell(self) -> Cell:
        return self.noise, self.slowdown


def better_peers(results: Simulated) -> Iterator[Better]:
    """Every setting and slowdown in which a peer has both the smaller share of false alarms and of misses."""
    for (noise, slowdown), tallies in results.items():
        if slowdown == IDENTICAL:
            continue
        for peer in PEERS:
            same, slow = results[noise, IDENTICAL][peer.name], tallies[peer.name]
            for own in OWN_NAMES:
                quieter = same.silent[own] - same.alone[own]
                keener = slow.alone[own] - slow.silent[own]
                if quieter > 0 and keener > 0:
                    sure = max(fewer(same.alone[own], same.silent[own]), fewer(slow.silent[own], slow.alone[own]))
                    yield Better(peer.name, own, noise, slowdown, sure < _CHANCE)


@dataclass(frozen=True)
class Ahead:
    """Where a peer is ahead of our judge beyond chance, on the same gates."""

    keener: tuple[tuple[Noise, Slowdown], ...]
    """It caught more."""
    quieter: tuple[Noise, ...]
    """It had fewer false alarms."""
    of_slowdowns: int
    of_noises: int


def ahead(results: Simulated, peer: str, own: str) -> Ahead:
    """Count what a peer does better, each for itself."""
    keener, quieter = [], []
    noises = 0
    for (noise, slowdown), tallies in results.items():
        alone, silent = tallies[peer].alone[own], tallies[peer].silent[own]
        if slowdown == IDENTICAL:
            noises += 1
            if fewer(alone, silent) < _CHANCE:
                quieter.append(noise)
        elif fewer(silent, alone) < _CHANCE:
            keener.append((noise, slowdown))
    return Ahead(tuple(keener), tuple(quieter), len(results) - noises, noises)


def _no_peer_better(results: Simulated, again: Callable[[Collection[Cell]], Simulated]) -> Bar:
    found = list(better_peers(results))
    sure = [each for each in found if each.beyond_chance]
    cases = len(PEERS) * len(OWN_NAMES) * sum(slowdown != IDENTICAL for _, slowdown in results)
    figures = (
        f"of {count(cases)} comparisons a peer is ahead on both in {count(len(found))}, beyond chance in {len(sure)}"
    )
    if sure:
        figures += f"{_listed(sure)}. So many comparisons find some by chance: "
        others = {each for each in better_peers(again({each.cell for each in sure})) if each.beyond_chance}
        sure = [each for each in sure if each in others]
        figures += f"of {TIMES_AGAIN} times as many other gates of these, beyond chance in {len(sure)}{_listed(sure)}"
    return Bar("No peer better on both false alarms and detection in any setting", not sure, figures)


def _listed(better: Sequence[Better]) -> str:
    groups: dict[str, int] = {}
    for each in better:
        label = f"{each.peer} at {_label(each.noise, each.own)}"
        groups[label] = groups.get(label, 0) + 1
    return "".join([": " if groups else "", "; ".join(f"{label} ({number})" for label, number in groups.items())])
