"""Saved sessions summed up, on a log scale: what a new one is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_tfperf.stats.summary import RESOLUTION, Centre, centre_of_logs


@dataclass(frozen=True)
class Sessions:
    """What saved sessions are together."""

    parts: tuple[Centre, ...]
    """Each of them."""
    mean: float
    """Mean of their means."""
    share: float
    """1 / (effective runs) of that mean."""
    variance_of_mean: float | None
    """Of that mean, from each session's own runs; None where one has a single run."""
    between: float
    """Variance of a new session's mean less theirs, from what differs between sessions; 0 if not known."""
    between_share: float
    """What `between` is on average where only the noise of runs lets sessions differ, by the variance of a run."""

    @property
    def count(self) -> int:
        return len(self.parts)

    def pooled_with(self, *others: Centre) -> tuple[float, float]:
        """Variance of one run, theirs and the others', and its degrees of freedom."""
        return pooled([*others, *self.parts])


def summed_up(sessions: Sequence[Sequence[float]]) -> Sessions:
    """Sum up the values of sessions. Kept for a while: every look at an arm asks for the same.

    Raises:
        ValueError: a value is not finite and positive, or there is none.
    """
    return _summed_up(tuple(map(tuple, sessions)))


@lru_cache(maxsize=512)
def _summed_up(sessions: tuple[tuple[float, ...], ...]) -> Sessions:
    if not sessions:
        raise ValueError("no session to hold the runs against")
    parts, count = tuple(centre_of_logs(session) for session in sessions), len(sessions)
    mean = sum(part.mean for part in parts) / count
    shares = sum(1 / part.left for part in parts)
    own = [part.variance_of_mean for part in parts if part.variance_of_mean is not None]
    spread = sum((part.mean - mean) ** 2 for part in parts) / (count - 1) if count > 1 else 0.0
    return Sessions(
        parts=parts,
        mean=mean,
        share=shares / count**2,
        variance_of_mean=sum(own) / count**2 if len(own) == count else None,
        between=spread * (1 + 1 / count),
        between_share=shares / count * (1 + 1 / count) if count > 1 else 0.0,
    )


def pooled(parts: Sequence[Centre]) -> tuple[float, float]:
    """Variance of one run, and its degrees of freedom."""
    freedom = sum(part.left - 1 for part in parts)
    if freedom == 0:
        return RESOLUTION**2, 0
    return max(sum(part.squares for part in parts) / freedom, RESOLUTION**2), freedom
