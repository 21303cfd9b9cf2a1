"""The process at the middle of a cluster's network: it holds the namespaces and counts what crosses the links."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from array import array
from collections.abc import Sequence
from typing import NoReturn

from pytest_tfperf.cluster import links, wire
from pytest_tfperf.cluster.messages import HostReady, ReadTraffic, Sampling, StartSwitch, SwitchFailed
from pytest_tfperf.cluster.spec import host_address
from pytest_tfperf.records.link import Link
from pytest_tfperf.records.traffic import HostTraffic, Traffic, TrafficSample

_DEVICES = "/proc/thread-self/net/dev"


class Counters:
    """The bytes that went over each of some interfaces of this network namespace."""

    def __init__(self, interfaces: Sequence[str]) -> None:
        self._prefixes = {f"{name}:".encode(): index for index, name in enumerate(interfaces)}
        self._file = open(_DEVICES, "rb", buffering=0)  # noqa: SIM115 -- it lives as long as the process

    def read(self) -> list[int]:
        """Received and sent bytes of the first interface, then of the next, and so on."""
        self._file.seek(0)
        values = [0] * (2 * len(self._prefixes))
        for line in self._file.readall().splitlines():
            fields = line.split()
            index = self._prefixes.get(fields[0])
            if index is not None:
                values[2 * index : 2 * index + 2] = int(fields[1]), int(fields[9])
        return values


class Recorder:
    """Samples of the hosts' counters."""

    def __init__(self, link: Link, hosts: Sequence[int], counters: Counters) -> None:
        self._link = link
        self._hosts = hosts
        self._counters = counters
        self._times = array("d")
        self._values = array("q")
        self.begin()

    def begin(self) -> None:
        """Forget every sample, and take one."""
        del self._times[:], self._values[:]
        self.sample()

    def sample(self) -> None:
        before = time.monotonic()
        values = self._counters.read()
        self._times.append((before + time.monotonic()) / 2)
        self._values.extend(values)

    def traffic(self) -> Traffic:
        # What comes in at the bridge's end of a link is what its host has sent.
        width = 2 * len(self._hosts)
        columns = [self._values[column::width] for column in range(width)]
        return Traffic(
            self._link,
            {
                host: HostTraffic(
                    host,
                    host_address(host),
                    tuple(map(TrafficSample, self._times, columns[2 * index], columns[2 * index + 1])),
                )
                for index, host in enumerate(self._hosts)
            },
        )


def main(sock: socket.socket, request: StartSwitch) -> NoReturn:
    """Be the switch until pytest closes the line."""
    sys.path += [path for path in request.sys_path if path not in sys.path]
    try:
        try:
            ports = links.build(request.link, request.hosts)
            recorder = Recorder(request.link, request.hosts, Counters([port.interface for port in ports]))
        except links.LinksError as error:
            wire.send(sock, SwitchFailed(str(error)))
            os._exit(0)
        for port in ports:
            wire.send(sock, HostReady(port.host), (port.namespace,))
        _serve(sock, recorder)
    except (EOFError, OSError):  # pytest has gone, or does not want it any more
        os._exit(0)


def _serve(sock: socket.socket, recorder: Recorder) -> NoReturn:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    interval: float | None = None
    due = 0.0
    while True:
        wait = None if interval is None else max(0.0, due - time.monotonic()) * 1000
        if poll.poll(wait):
            message, _ = wire.receive(sock)
            if isinstance(message, Sampling):
                interval = message.interval
                recorder.begin()
                due = time.monotonic() + (interval or 0.0)
                wire.send(sock, None)
            else:
                assert isinstance(message, ReadTraffic), message
                recorder.sample()
                wire.send(sock, recorder.traffic())
        elif interval is not None:
            recorder.sample()
            due = max(due + interval, time.monotonic())  # what a busy machine made late is not made up for
