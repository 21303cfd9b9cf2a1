"""Ports for a cluster: picked where the kernel hands out none by itself, and held where others could take them."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Iterator, Sequence

from pytest_tfperf.errors import ClusterStartError

FIRST_PORT = 10_000
"""Below it live services that people name by number."""
LAST_PORT = 65_535
_LINUX_EPHEMERAL = (32_768, 60_999)

CLASH_SIGNS = ("Could not start gRPC server", "Address already in use", "Failed to bind to port")
"""What TensorFlow says where its port is taken; the error's type (UnknownError) says nothing."""


class PortClashError(Exception):
    """A task's port was taken; its text says which."""


def is_clash(message: str) -> bool:
    """Whether an exception's text means that a server's port was taken."""
    return any(sign in message for sign in CLASH_SIGNS)


def ephemeral_range() -> tuple[int, int]:
    """First and last port that the kernel gives to outgoing connections."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            low, high = file.read().split()
        return int(low), int(high)
    except (OSError, ValueError):
        return _LINUX_EPHEMERAL


def candidates(ephemeral: tuple[int, int]) -> list[int]:
    """Ports that no outgoing connection is given by chance; every port where the kernel's range leaves none."""
    low, high = ephemeral
    outside = [port for port in range(FIRST_PORT, LAST_PORT + 1) if not low <= port <= high]
    return outside or list(range(FIRST_PORT, LAST_PORT + 1))


class PortPicker:
    """Picks free ports, and no port twice before it has gone through all of them.

    A client of a cluster that has just ended may go on trying to connect for a while: it must not find a new one.
    """

    def __init__(self, pool: Sequence[int] | None = None, start: int | None = None) -> None:
        self._pool = list(candidates(ephemeral_range()) if pool is None else pool)
        self._next = random.randrange(len(self._pool)) if start is None else start

    def pick(self, count: int) -> list[int]:
        """`count` different ports that nobody holds now; raises ClusterStartError where there are not so many."""
        found: list[int] = []
        for port in self._walk():
            if len(found) == count:
                break
            if is_free(port):
                found.append(port)
        if len(found) < count:
            raise ClusterStartError(f"Only {len(found)} free ports of the {count} that the cluster needs.")
        return found

    def _walk(self) -> Iterator[int]:
        for _ in range(len(self._pool)):
            port = self._pool[self._next % len(self._pool)]
            self._next += 1
            yield port


def loopback() -> str:
    """The machine's loopback as a part of addresses; IPv6's where there is no other.

    A number, so that no name service is asked, which could answer with another machine. Raises OSError where the system
    refuses a socket for another reason.
    """
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", 0))
    except OSError as error:
        if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise
        return "[::1]"
    return "127.0.0.1"


class PortHold:
    """Keeps ports from other programs: bound but not listening, shared with the same user's SO_REUSEPORT sockets."""

    def __init__(self, ports: Sequence[int]) -> None:
        """Raises OSError where a port was taken in the meantime."""
        self._sockets: list[socket.socket] = []
        try:
            for port in ports:
                self._sockets.append(_bind(port, share=True))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        while self._sockets:
            self._sockets.pop().close()


def is_free(port: int, *, share: bool = False) -> bool:
    """Whether a server could bind the port on every interface, as TensorFlow does.

    With `share`, sockets that hold it with SO_REUSEPORT and do not listen are no obstacle.
    """
    try:
        bound = _bind(port, share=share)
    except OSError:
        return False
    bound.close()
    return True


def _bind(port: int, *, share: bool) -> socket.socket:
    # Without SO_REUSEADDR: with it, two sockets that do not listen yet can both bind the port.
    for family, host in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        try:
            bound = socket.socket(family, socket.SOCK_STREAM)
        except OSError:  # no IPv6 in this kernel
            continue
        try:
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            if share:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bound.bind((host, port))
            return bound
        except OSError as error:
            bound.close()
            if family == socket.AF_INET6 and error.errno == errno.EADDRNOTAVAIL:  # IPv6 is switched off
                continue
            raise
    raise OSError(errno.EADDRNOTAVAIL, f"port {port} can be bound on no interface")
