"""Tells whether it is the machine that got slower: the time of a small program, before every cluster or session."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

TIME_BOUND = 1.25
"""Late clusters and sessions may take so many times as long as early ones."""
_PROGRAM = [sys.executable, "-I", "-S", "-c", "sum(range(1_000_000))"]


def control() -> float:
    """Seconds that the program takes."""
    return seconds_of(lambda: subprocess.run(_PROGRAM, check=True))


def seconds_of(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began
