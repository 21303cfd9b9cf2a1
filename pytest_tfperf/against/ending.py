"""Ends a process that leads a group of its own, and all that is left of the group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Any

_LOOK = 0.01
"""Seconds between looks whether it has ended."""


def code_within(process: subprocess.Popen[Any], seconds: float) -> int | None:
    """Exit code of a process that has ended, or does so within so many seconds; None where it goes on.

    It is left a zombie, which keeps its id: so no other process, and no other group, can have it.
    """
    deadline = time.monotonic() + seconds
    while process.returncode is None:
        try:
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # somebody else in this process has waited for all children
            return process.wait()
        if ended is not None:
            return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        if time.monotonic() >= deadline:
            return None
        time.sleep(_LOOK)
    return process.returncode


def signal_group(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    """Signal a process and its group, unless it has been waited for: its id may be another one's by then."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def end_group(process: subprocess.Popen[Any], grace: float) -> None:
    """Give a process that was told to end so many seconds, then kill it, and what is left of its group in any case."""
    code_within(process, grace)
    signal_group(process, signal.SIGKILL)
    process.wait()
