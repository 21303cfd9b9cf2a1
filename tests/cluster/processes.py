"""What the tests of real processes share."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import psutil  # type: ignore[import-untyped, unused-ignore]

from pytest_tfperf.cluster import placements
from pytest_tfperf.records.task import Layout, TaskPlacement


def poll(condition: Callable[[], bool], what: str | Callable[[], str], seconds: float = 20.0) -> None:
    """Wait for a condition; fails the test after a deadline that no working system comes near.

    `what`: the condition in words, or what gives them as they are after the wait.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            raise AssertionError(f"still not so after {seconds:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.01)


def workers(count: int, *, ps: int = 0) -> tuple[TaskPlacement, ...]:
    return placements(Layout(workers=count, ps=ps))


def is_gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def own_addresses() -> set[str]:
    """This machine's IPv4 addresses."""
    families = (socket.AF_INET,)
    return {one.address for some in psutil.net_if_addrs().values() for one in some if one.family in families}
