"""Length-prefixed pickles over Unix sockets, with file descriptors where a message needs them."""

from __future__ import annotations

import os
import pickle
import socket
import struct
from collections.abc import Iterator, Sequence

_HEADER = struct.Struct("!Q")
_CHUNK = 1 << 20
_MAX_FDS = 8


def encode(message: object) -> bytes:
    """A message as it goes over the wire."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _HEADER.pack(len(body)) + body


def send(sock: socket.socket, message: object, fds: Sequence[int] = ()) -> None:
    """Send a message on a blocking socket; raises OSError where the other end is gone."""
    data = encode(message)
    if fds:
        # Descriptors ride on the header: a stream keeps them with the bytes that they were sent with.
        sent = socket.send_fds(sock, [data[: _HEADER.size]], list(fds))
        data = data[sent:]
    sock.sendall(data)


def receive(sock: socket.socket) -> tuple[object, list[int]]:
    """The next message of a blocking socket and its descriptors; raises EOFError where the other end is gone."""
    header, fds = b"", list[int]()
    while len(header) < _HEADER.size:
        try:
            data, more, _, _ = socket.recv_fds(sock, _HEADER.size - len(header), _MAX_FDS)
        except ConnectionError:
            data, more = b"", []
        fds += more
        if not data:
            for fd in fds:
                os.close(fd)
            raise EOFError("the other end closed the socket")
        header += data
    (size,) = _HEADER.unpack(header)
    body = bytearray()
    while len(body) < size:
        try:
            data = sock.recv(min(_CHUNK, size - len(body)))
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError("the other end closed the socket within a message")
        body += data
    return pickle.loads(body), fds


class Inbox:
    """Puts messages together from what a non-blocking socket gives piece by piece."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[object]:
        """Every message that is complete with `data`."""
        self._buffer += data
        while len(self._buffer) >= _HEADER.size:
            (size,) = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + size
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            yield pickle.loads(body)


class Channel:
    """pytest's end of the line to one process. It never blocks: a stuck process cannot stop pytest."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._inbox = Inbox()
        self._outgoing = bytearray()
        self.ended = False
        """True once the other end is gone."""

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        return bool(self._outgoing) and not self.ended

    def send(self, message: object) -> None:
        """Queue a message and send as much of it as goes now."""
        self._outgoing += encode(message)
        self.flush()

    def flush(self) -> None:
        while self._outgoing and not self.ended:
            try:
                sent = self._socket.send(memoryview(self._outgoing)[:_CHUNK])
            except BlockingIOError:
                return
            except OSError:
                self.ended = True
                return
            del self._outgoing[:sent]

    def receive(self) -> list[object]:
        """Every message that has come in full by now."""
        messages: list[object] = []
        while not self.ended:
            try:
                data = self._socket.recv(_CHUNK)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.ended = True
                break
            messages += self._inbox.feed(data)
        return messages

    def close(self) -> None:
        self.ended = True
        self._socket.close()
