"""Scaling that is too good: N replicas that are more than N times as fast as one."""

from __future__ import annotations

from pytest_tfperf.records.estimate import Estimate


def above_one(efficiency: Estimate, replicas: int) -> str:
    """A sentence where E(N) is surely above 1; empty elsewhere.

    With the batch per replica fixed, N replicas do the work of one and communicate on top, so nothing of the training
    itself explains it: then T(1) was measured too low, or measures something else.
    """
    if replicas < 2 or efficiency.n < 2 or efficiency.low <= 1:
        return ""
    label = f"E({replicas})"
    return (
        f"{label} is {efficiency.value:.2f} [{efficiency.low:.2f}, {efficiency.high:.2f}], above 1: suspect T(1). "
        f"It may have been disturbed, its reference may do something else than T({replicas}) does (another kernel, "
        "input or update, or fewer steps in a call; try reference=... with the strategy itself), or what a replica "
        f"needs fits into a cache only when it is split. Until that is known {label} hides losses of the same size."
    )
