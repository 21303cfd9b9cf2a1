"""Leaks to put in on purpose, to see that the soak names each of them."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_kept: list[Any] = []
_IPC_CREAT = 0o1000
_BYTES = 4 << 20


def _keep(make: Callable[[int], Any]) -> Callable[[int], None]:
    return lambda index: _kept.append(make(index))


def _thread(index: int) -> threading.Thread:
    thread = threading.Thread(target=threading.Event().wait, name=f"left {index}", daemon=True)
    thread.start()
    return thread


LEAKS: dict[str, Callable[[int], None]] = {
    "descriptor": _keep(lambda index: os.open(os.devnull, os.O_RDONLY)),
    "thread": _keep(_thread),
    "memory": _keep(lambda index: b"x" * _BYTES),
    "objects": _keep(lambda index: [[] for _ in range(100)]),
    "file": lambda index: Path(tempfile.gettempdir(), f"left-{index}").touch(),
    "process": _keep(
        lambda index: subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    ),
    "port": _keep(lambda index: socket.create_server(("127.0.0.1", 0))),
    "shared_memory": lambda index: Path(f"/dev/shm/left-{index}").touch(),
    "semaphore": _keep(lambda index: ctypes.CDLL(None).semget(0, 1, _IPC_CREAT | 0o600)),
    "seconds": lambda index: time.sleep(0.02 * index),
}
"""What is called after every cluster, with its number. A process ends with the soak, whose end closes its input."""
NEED_NAMESPACES = ("shared_memory", "semaphore")
"""Only in namespaces of the soak's own: elsewhere it would stay on the machine."""
