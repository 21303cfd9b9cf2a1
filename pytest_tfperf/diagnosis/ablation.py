"""What holding an arm against a variant of itself says: how much of the variant's time the difference costs."""

from __future__ import annotations

from pytest_tfperf.records.estimate import Estimate
from pytest_tfperf.units import format_number, format_percent


def what_difference_costs(speedup: Estimate, against: str) -> str:
    """One sentence; claims a difference only where the interval of the speed-up excludes 1."""
    shown = f"{format_number(speedup.value, 3)} times"
    if speedup.n < 2:
        return f"Against {against}: {shown} as fast; one round cannot say whether that is noise."
    interval = f"[{format_number(speedup.low, 3)}, {format_number(speedup.high, 3)}]"
    if speedup.low > 1:
        share = format_percent(1 - 1 / speedup.value, decimals=0)
        return f"Against {against}: {shown} as fast {interval}, so {share} of its time goes into the difference."
    if speedup.high < 1:
        return f"Against {against}: {shown} as fast {interval}, so this is the slower of the two."
    return f"Against {against}: {shown} as fast {interval}; no difference beyond the noise."
