"""What the two sides say to each other: JSON, one message a line, over a Unix socket.

The sides may be different versions of this package, so nothing of ours is pickled, and a message is the smallest thing
that does. Whoever asks sends one request and waits for its one reply:

``{"do": "hello", "protocol": 1, "checkout": FOLDER, "worktree": FOLDER, "cores": [NUMBER]}``
    -> `Offer` as an object. The folders are the asking side's checkout, from which the other must have imported
    nothing, and the other's own. The cores are those that CPU ranks are pinned to on both sides; none: the other's own
    choice.
``{"do": "measure", "test": ID, "arm": "reference" or N, "round": NUMBER}``
    -> `Measurement` as an object: one run in fresh processes.
``{"do": "stop"}``
    -> ``{}``, and the other side ends.

Where a request cannot be met the reply is ``{"error": TEXT}``. A reader ignores keys that it does not know, so that
keys can be added; anything else is another `PROTOCOL`.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# 1: hello, measure and stop.
PROTOCOL = 1

LONGEST = 64_000_000
"""Bytes of a message; an offer of a thousand tests has one."""
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class ProtocolError(Exception):
    """A message is not what it should be; the text says in what."""


@dataclass(frozen=True)
class TestOffer:
    """A test that the other side can measure."""

    definition: Mapping[str, str | int | float | bool | None]
    replicas: tuple[int, ...]
    device: str
    timeout: float
    """Deadline in seconds of one run."""

    __test__ = False  # Its name is no test's, whatever pytest may think.


@dataclass(frozen=True)
class Offer:
    """What the other side is and has."""

    protocol: int
    plugin: str
    """Folder of the package pytest_tfperf there."""
    tests: Mapping[str, TestOffer]
    """By node id without the replica count."""
    skipped: tuple[str, ...] = ()
    """Tests that are there, and skipped."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """By node id of a file or folder: why it could not be collected."""
    foreign: tuple[str, ...] = ()
    """Modules that came from the asking side's checkout, as ``name (file)``."""
    soft: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Soft keys of the environment, by device."""
    logs: str = ""
    """Where the tasks' logs are, if they are kept."""


@dataclass(frozen=True)
class Measurement:
    """One run of one arm: examples/s of the whole job, seconds of a replica's step, and what is known of it."""

    throughput: float
    step_time: float
    warnings: tuple[str, ...] = ()
    disturbances: tuple[str, ...] = ()
    """What disturbed it."""
    discarded: tuple[tuple[str, ...], ...] = ()
    """What disturbed each of the runs that were made before it and left out."""
    facts: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False
    """Whether all that disturbed it came from outside; not said by older versions."""


def as_message(record: Offer | Measurement) -> dict[str, Any]:
    return asdict(record)


def read_offer(message: Mapping[str, Any]) -> Offer:
    """Raises ProtocolError for another protocol, and for a message that is none."""
    try:
        if message["protocol"] != PROTOCOL:
            raise ProtocolError(f"it speaks version {message['protocol']} of the protocol, this side {PROTOCOL}")
        return Offer(
            protocol=PROTOCOL,
            plugin=str(message["plugin"]),
            tests={
                str(test): TestOffer(
                    dict(offer["definition"]),
                    tuple(int(count) for count in offer["replicas"]),
                    str(offer["device"]),
                    float(offer["timeout"]),
                )
                for test, offer in message["tests"].items()
            },
            skipped=tuple(map(str, message["skipped"])),
            problems={str(node): str(text) for node, text in message["problems"].items()},
            foreign=tuple(map(str, message["foreign"])),
            soft={str(device): _texts(values) for device, values in message["soft"].items()},
            logs=str(message["logs"]),
        )
    except _UNREADABLE as error:
        raise ProtocolError(f"its answer to hello cannot be read ({error!r})") from error


def read_measurement(message: Mapping[str, Any]) -> Measurement:
    """Raises ProtocolError for a message that is none."""
    try:
        throughput, step_time = float(message["throughput"]), float(message["step_time"])
        if not (0 < throughput < float("inf") and 0 < step_time < float("inf")):
            raise ProtocolError(f"it says that it measured {throughput} examples/s and steps of {step_time} s")
        return Measurement(
            throughput,
            step_time,
            warnings=tuple(map(str, message["warnings"])),
            disturbances=tuple(map(str, message["disturbances"])),
            discarded=tuple(tuple(map(str, texts)) for texts in message["discarded"]),
            facts=tuple(map(str, message["facts"])),
            versions=_texts(message["versions"]),
            outside=message.get("outside") is True,
        )
    except _UNREADABLE as error:
        raise ProtocolError(f"its measurement cannot be read ({error!r})") from error


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in values.items()}


class Line:
    """One end of the line between the sides."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._buffer = bytearray()

    def send(self, message: Mapping[str, Any]) -> None:
        """Raises EOFError where the other end is gone."""
        try:
            self._socket.settimeout(None)
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise EOFError(str(error)) from error

    def receive(self, seconds: float | None = None) -> dict[str, Any]:
        """The next message; None as `seconds` waits for ever.

        Raises:
            EOFError: the other end is gone.
            TimeoutError: nothing came in time.
            ProtocolError: what came is no message.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._buffer:
            self._socket.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                raise
            except OSError:
                data = b""
            if not data:
                raise EOFError("the other end closed the line")
            self._buffer += data
            if len(self._buffer) > LONGEST:
                raise EOFError(f"the other end sent more than {LONGEST} bytes that are no message")
        text, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"not JSON: {text[:80]!r}") from error
        if not isinstance(message, dict):
            raise ProtocolError(f"not an object: {text[:80]!r}")
        return message

    def close(self) -> None:
        self._socket.close()
