"""pytest's handle on the network between a cluster's hosts."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import pytest_tfperf
from pytest_tfperf.cluster import wire
from pytest_tfperf.cluster.interpreter import flags, start_environ
from pytest_tfperf.cluster.messages import HostReady, ReadTraffic, Sampling, SwitchFailed
from pytest_tfperf.cluster.nursery import Nursery
from pytest_tfperf.cluster.process import describe_exit
from pytest_tfperf.errors import ClusterError, ClusterStartError
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.traffic import Traffic

DEFAULT_INTERVAL = 0.01
"""Seconds between samples. A link of 1 Gbit/s carries 1.25 MB in them; they cost about 1 % of a core."""
_PATIENCE = 20.0
"""Seconds that a switch may take to be up, or to answer; it is some tenths of a second's work."""


@functools.cache
def why_no_links() -> str:
    """Why links cannot be had on this machine, tried in a process that is thrown away; empty where they can."""
    package_root = os.path.dirname(os.path.abspath(pytest_tfperf.__path__[0]))
    command = [sys.executable, *flags(), "-m", "pytest_tfperf.cluster.links"]
    environ = start_environ(os.environ, package_root)
    try:
        tried = subprocess.run(
            command, cwd="/", env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"a try was not done within {_PATIENCE:g} s"
    if tried.returncode != 0:
        return f"a try ended with {describe_exit(tried.returncode)}: {tried.stderr.strip()[-500:]}"
    return tried.stdout.strip()


class Network:
    """One switch process, from start to end."""

    def __init__(self, nursery: Nursery, link: Link, hosts: Sequence[int], key: int) -> None:
        """Start it and wait until every host is there. Raises ClusterStartError and SupervisorGoneError."""
        self.key = key
        self.namespaces: dict[int, int] = {}
        """Descriptor of each host's network namespace, until `let_go`."""
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_PATIENCE)
        try:
            with theirs:
                nursery.start_switch(key, link, hosts, theirs)
            while len(self.namespaces) < len(hosts):
                message, descriptors = wire.receive(self._socket)
                if isinstance(message, SwitchFailed):
                    raise ClusterStartError(f"The cluster's hosts cannot be joined by links: {message.reason}.")
                assert isinstance(message, HostReady), message
                (self.namespaces[message.host],) = descriptors
        except (EOFError, TimeoutError) as error:
            self.close()
            raise ClusterStartError(f"The process that joins the cluster's hosts did not come up ({error}).") from None
        except BaseException:
            self.close()
            raise

    def sample(self, interval: float | None) -> None:
        """Begin anew to keep samples, one every `interval` seconds (None: only one for every `traffic`)."""
        self._ask(Sampling(interval))

    def traffic(self) -> Traffic:
        """Every sample since the last call of `sample`, or since the start, and one of this moment."""
        traffic = self._ask(ReadTraffic())
        assert isinstance(traffic, Traffic), traffic
        return traffic

    def let_go(self) -> None:
        """Close the namespaces' descriptors: the tasks are in them by now."""
        while self.namespaces:
            os.close(self.namespaces.popitem()[1])

    def close(self) -> None:
        """Tell the switch to end. Safe to call again."""
        self.let_go()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # a process that pytest has forked may hold the socket too
        self._socket.close()

    def _ask(self, request: object) -> object:
        try:
            wire.send(self._socket, request)
            answer, _ = wire.receive(self._socket)
        except (EOFError, OSError) as error:
            raise ClusterError(f"The process that joins the cluster's hosts has ended ({error}).") from None
        return answer
