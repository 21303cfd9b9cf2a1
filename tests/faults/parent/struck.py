"""A workload whose tasks do something bad once: TFPERF_STRIKE says when, what, to whom, and which worker does it.

For instance ``step SIGINT session 1``: worker 1 sends SIGINT to the session's pytest in a step. When: `build`, `step`.
What: a signal, `hang`, or `memory`: it takes all there is. To whom: `session`, `zygote`, or `session-again`: once more
when pytest ends the task, which goes on for all that.
"""

from __future__ import annotations

import json
import os
import signal
import time
from types import FrameType

from steady import SECONDS, stepping  # type: ignore[import-not-found]

from pytest_tfperf import workload

_STEPS = 12
"""Steps before a strike: it is in the warm-up or in the timed windows by then."""


@workload("struck")
def struck(batch_size: int = 8) -> object:
    strike("build")
    steps = 0

    def wait() -> None:
        nonlocal steps
        steps += 1
        if steps == _STEPS:
            strike("step")
        time.sleep(SECONDS)

    return stepping(wait, batch_size)


def strike(when: str) -> None:
    asked, what, whom, worker = (os.environ.get("TFPERF_STRIKE") or "- - - -").split()
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    if whom == "session-again" and when == "build":
        signal.signal(signal.SIGTERM, _again)
    if when != asked or worker not in ("any", str(task["index"])) or not _is_first(os.environ["TFPERF_STRUCK"]):
        return
    if what == "hang":
        time.sleep(3600)
    taken = []
    while what == "memory":
        taken.append(b"x" * 50_000_000)
    pid = os.getppid() if whom == "zygote" else int(os.environ["TFPERF_SESSION"])
    os.kill(pid, getattr(signal, what))


def _again(number: int, frame: FrameType | None) -> None:
    if _is_first(f"{os.environ['TFPERF_STRUCK']}-again"):
        os.kill(int(os.environ["TFPERF_SESSION"]), signal.SIGINT)


def _is_first(marker: str) -> bool:
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
