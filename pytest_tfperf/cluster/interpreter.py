"""How another interpreter like this one is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def flags() -> list[str]:
    """Options of this interpreter that change what an import finds or does, to be given on to another."""
    options: list[str] = []  # not -W: under "error" importing TensorFlow fails on its own warnings
    if sys.flags.no_user_site:
        options.append("-s")
    if sys.flags.optimize:
        options.append("-" + "O" * sys.flags.optimize)
    if sys.flags.dont_write_bytecode:
        options.append("-B")
    return options


def start_environ(environ: Mapping[str, str], package_root: str) -> dict[str, str]:
    """An environment in which a fresh interpreter finds this package, wherever pytest found it."""
    result = dict(environ)
    # Last, and only this folder: test folders may hold modules named like those that TensorFlow imports.
    result["PYTHONPATH"] = os.pathsep.join(filter(None, (result.get("PYTHONPATH"), package_root)))
    return result
