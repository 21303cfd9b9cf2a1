"""Packs what a task gives back or tells the others: each value is bounded, what all of them take together is not."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

MAX_VALUE = 256 << 20
"""Bytes of one value. pytest's process holds those of all tasks at once, and in an exchange again for each of them."""


class TooLargeError(Exception):
    """A value takes more than `MAX_VALUE` bytes."""

    def __init__(self) -> None:
        super().__init__(f"it takes more than {MAX_VALUE >> 20} MiB")


class _Bounded(BytesIO):
    """Refuses a large value before it is copied."""

    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > MAX_VALUE:
            raise TooLargeError
        return super().write(data)


def pack(value: object) -> bytes:
    """Pickle a value; raises TooLargeError, and whatever pickling it raises."""
    try:
        with _Bounded() as file:
            pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)
            return file.getvalue()
    except TooLargeError:
        raise
    except Exception:  # a test's own class, which came here by value
        import cloudpickle

        with _Bounded() as file:
            cloudpickle.dump(value, file)
            return file.getvalue()
