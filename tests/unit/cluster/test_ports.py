"""Ports are picked outside the kernel's own range, free, and not twice."""

from __future__ import annotations

import errno
import resource
import socket

import pytest

from pytest_tfperf.cluster.ports import PortHold, PortPicker, candidates, ephemeral_range, is_clash, is_free, loopback
from pytest_tfperf.errors import ClusterStartError


def test_candidates() -> None:
    ports = candidates((32_768, 60_999))
    assert min(ports) == 10_000
    assert max(ports) == 65_535
    assert not set(ports) & set(range(32_768, 61_000))
    assert candidates((1_024, 65_535)), "a range that leaves nothing"
    low, high = ephemeral_range()
    assert low < high


def test_picks_are_free_and_differ() -> None:
    picker = PortPicker()
    picked = [*picker.pick(3), *picker.pick(3)]
    assert len(set(picked)) == 6
    assert all(map(is_free, picked))


def test_a_taken_port_is_left_out() -> None:
    one, other = PortPicker().pick(2)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", one))
        holder.listen()
        assert PortPicker([one, other], start=0).pick(1) == [other]
        with pytest.raises(ClusterStartError, match="Only 1 free ports of the 2"):
            PortPicker([one, other], start=0).pick(2)


def test_a_held_port_is_free_only_for_those_who_share_it() -> None:
    (port,) = PortPicker().pick(1)
    hold = PortHold([port])
    assert not is_free(port)
    assert is_free(port, share=True)
    hold.close()
    assert is_free(port)


def test_a_hold_that_fails_holds_nothing() -> None:
    one, other = PortPicker().pick(2)
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", other))
        holder.listen()
        with pytest.raises(OSError, match="in use"):
            PortHold([one, other])
    assert is_free(one)


def test_the_loopback_is_ipv6_only_where_there_is_no_ipv4() -> None:
    assert loopback() == "127.0.0.1"
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        with pytest.raises(OSError, match="Too many open files"):
            loopback()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("number", [errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT])
@pytest.mark.parametrize("call", ["__init__", "bind"])
def test_without_ipv4_the_loopback_is_ipv6s(monkeypatch: pytest.MonkeyPatch, call: str, number: int) -> None:
    """As in a kernel without it, or where the loopback has no such address."""

    def refused(*_: object) -> None:
        raise OSError(number, "refused")

    class Refusing(socket.socket):
        pass

    setattr(Refusing, call, refused)
    monkeypatch.setattr(socket, "socket", Refusing)
    assert loopback() == "[::1]"


def test_clash_texts() -> None:
    assert is_clash("UnknownError: Could not start gRPC server")
    assert not is_clash("no such model")
