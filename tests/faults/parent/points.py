"""A pytest plugin: real signals at chosen points of the code, however busy the machine is.

TFPERF_POINTS is ``module:function=WHAT,WHAT ...``: what happens just before the first call, before the second, and so
on. WHAT is a signal, which this process sends to itself; `zygote`, which gets SIGKILL; or empty.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]

os.environ.setdefault("TFPERF_SESSION", str(os.getpid()))  # not the other side of --tfperf-against, which inherits it


def install(point: str) -> None:
    name, _, what = point.partition("=")
    module, _, path = name.partition(":")
    *owners, last = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    real, todo = getattr(owner, last), iter(what.split(","))

    @functools.wraps(real)
    def pointed(*args: Any, **kwargs: Any) -> Any:
        act(todo)
        return real(*args, **kwargs)

    setattr(owner, last, pointed)


def act(todo: Iterator[str]) -> None:
    what = next(todo, "")
    if what == "zygote":
        for child in psutil.Process().children():
            if "pytest_tfperf.cluster.zygote" in child.cmdline():
                child.kill()
                os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead for certain, and not yet seen to be
    elif what:
        os.kill(os.getpid(), getattr(signal, what))


if os.environ["TFPERF_SESSION"] == str(os.getpid()):
    for _point in os.environ.get("TFPERF_POINTS", "").split():
        install(_point)
