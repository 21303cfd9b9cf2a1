"""Counts of alarms, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.verdicts.gates import SESSIONS, Bools, Gates
from benchmarks.verdicts.ours import judge
from benchmarks.verdicts.peers import PEERS, Peer


def own_name(sessions: int) -> str:
    """How a table calls our judge with this many saved sessions."""
    return f"tfperf, {sessions} session{'s' if sessions > 1 else ''}"


OWN_NAMES = tuple(own_name(sessions) for sessions in SESSIONS)


@dataclass(frozen=True)
class Tally:
    """What one judge said of the gates of one setting."""

    gates: int = 0
    alarms: int = 0
    rounds: int = 0
    """Rounds used, summed over the gates."""
    undecided: int = 0
    alone: Mapping[str, int] = field(default_factory=dict)
    """For a peer, by our judge's name: gates of which only the peer raised an alarm."""
    silent: Mapping[str, int] = field(default_factory=dict)
    """For a peer, by our judge's name: gates of which only our judge raised an alarm."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.gates + other.gates,
            self.alarms + other.alarms,
            self.rounds + other.rounds,
            self.undecided + other.undecided,
            _sum(self.alone, other.alone),
            _sum(self.silent, other.silent),
        )

    @property
    def share(self) -> float:
        """Alarms per gate; nan without gates."""
        return self.alarms / self.gates if self.gates else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's 95 % interval of the share (Biometrika 26, 1934)."""
        from scipy.stats import binomtest

        found = binomtest(self.alarms, self.gates).proportion_ci(0.95, method="exact")
        return float(found.low), float(found.high)


def tally(gates: Gates, most_for_slow_peers: int | None = None, peers: Sequence[Peer] = PEERS) -> dict[str, Tally]:
    """Let every judge decide about the gates.

    Args:
        most_for_slow_peers: gates, from the first, that peers are given who take milliseconds for each.
        peers: those to ask; our judge is always.
    """
    counts: dict[str, Tally] = {}
    ours: dict[str, Bools] = {}
    for sessions in (each for each in SESSIONS if each <= gates.saved.shape[1]):
        judged = judge(gates, sessions)
        ours[own_name(sessions)] = judged.alarms
        counts[own_name(sessions)] = Tally(
            len(gates), int(judged.alarms.sum()), int(judged.rounds.sum()), int(judged.undecided.sum())
        )
    for peer in peers:
        part = _first(gates, most_for_slow_peers) if peer.slow and most_for_slow_peers is not None else gates
        alarms, able = peer.alarms(part), peer.judges(part)
        beside = {name: own[: len(part)] & able for name, own in ours.items()}
        counts[peer.name] = Tally(
            int(able.sum()),
            int((alarms & able).sum()),
            alone={name: int((alarms & able & ~own).sum()) for name, own in beside.items()},
            silent={name: int((own & ~alarms).sum()) for name, own in beside.items()},
        )
    return counts


def fewer(less: int, more: int) -> float:
    """How likely chance alone splits `less + more` gates at least so unevenly: the sign test, one-sided.

    Of the gates in which two judges differ, each is as likely to have raised the alarm if neither does so more often
    (Q. McNemar, Psychometrika 12, 1947, with the exact binomial).
    """
    from scipy.stats import binomtest

    return float(binomtest(less, less + more, alternative="less").pvalue) if less + more else 1.0


def _first(gates: Gates, count: int) -> Gates:
    return Gates(
        gates.saved[:count], gates.now[:count], gates.saved_steps[:count], gates.now_steps[:count],
        gates.history[:count],
    )  # fmt: skip


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
