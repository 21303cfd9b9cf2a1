"""Another user of the machine, for real: a process with an id that owns nothing."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest

NOBODY = 65_534
SOMEBODY = 65_533
"""Who runs a session that must not be root's."""


def as_user(function: Callable[..., Any], *args: object, user: int = NOBODY) -> Any:
    """What a function gives, as JSON has it, in a process of another user; skip where this one may not become it."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another user")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            become(user)
            os.write(writer, json.dumps(function(*args)).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as answer:
        text = answer.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads(text)


def become(user: int) -> None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
