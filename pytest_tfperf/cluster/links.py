"""Hosts with a network namespace each, joined by a bridge through links of a shaped rate.

Each host's end of its link is shaped for what it sends, the bridge's end for what it receives, as a network card and a
switch would. All of it lives in namespaces without a name, which the kernel removes with the last process in them, so
that nothing has to be cleaned up, whatever kills whom.

As a program it tries once whether this machine can do it, and prints why not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tfperf.cluster import namespace
from pytest_tfperf.cluster.spec import host_address
from pytest_tfperf.records.link import Link

MISSING = "pyroute2 is not installed; get it with: pip install 'pytest-tfperf[links]'"
NO_RIGHT = "this kernel gives no right to make network namespaces"

_BRIDGE = "switch"
_PREFIX_LENGTH = 16
_BURST_SECONDS = 0.002
_SMALLEST_BURST = 128 * 1024
"""Bytes: twice the largest packet that the kernel hands down in one piece."""
_QUEUE = "50ms"
"""How long a packet may wait in a link's queue before it is dropped."""
_STEPS = {
    "namespace": ("making a network namespace", False),
    "bridge": ("making a bridge", True),
    "veth": ("making a veth pair", True),
    "address": ("giving a host its address", False),
    "tbf": ("shaping a link", True),
}
"""What is being done, and whether a kernel can be built without it."""
_NO_SUCH_KIND = (errno.ENOENT, errno.EOPNOTSUPP)


class LinksError(Exception):
    """Shaped links cannot be had; its text is the reason."""


@dataclass(frozen=True)
class Port:
    """Where a host is plugged in."""

    host: int
    interface: str
    """The bridge's end of its link."""
    namespace: int
    """Descriptor of the host's network namespace."""


def build(link: Link, hosts: Sequence[int]) -> list[Port]:
    """Make a network of hosts and move this process to its switch.

    The namespaces live as long as a process holds them. Needs the rights that `namespace.enter` has brought. Raises
    LinksError, after which this process is of no more use.
    """
    iproute = _iproute()
    with _step("namespace"):
        switch = namespace.create()
        ports = [Port(host, f"host{host}", namespace.create()) for host in hosts]
        namespace.join(switch)
    with iproute() as kernel:
        with _step("bridge"):
            kernel.link("add", ifname=_BRIDGE, kind="bridge")
            bridge = _up(kernel, _BRIDGE)
        for port in ports:
            with _step("veth"):
                peer = {"ifname": "eth0", "net_ns_fd": port.namespace}
                kernel.link("add", ifname=port.interface, kind="veth", peer=peer)
                index = _up(kernel, port.interface, master=bridge)
            _shape(kernel, index, link)
    for port in ports:
        namespace.join(port.namespace)
        with iproute() as kernel:
            with _step("address"):
                index = _up(kernel, "eth0")
                kernel.addr("add", index=index, address=host_address(port.host), prefixlen=_PREFIX_LENGTH)
            _shape(kernel, index, link)
    namespace.join(switch)
    os.close(switch)
    return ports


def _up(kernel: Any, name: str, **attributes: int) -> int:
    index: int = kernel.link_lookup(ifname=name)[0]
    kernel.link("set", index=index, state="up", **attributes)
    return index


def _shape(kernel: Any, index: int, link: Link) -> None:
    rate = round(link.rate_bytes_per_second)
    burst = max(_SMALLEST_BURST, round(rate * _BURST_SECONDS))
    with _step("tbf"):
        kernel.tc("add", "tbf", index, handle=0x10000, rate=rate, burst=burst, latency=_QUEUE)


def _iproute() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from pyroute2 import IPRoute
        except ImportError as error:
            raise LinksError(MISSING if error.name == "pyroute2" else f"pyroute2 cannot be imported: {error}") from None
    return IPRoute


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
    """Turn an error into a reason."""
    from pyroute2 import NetlinkError

    what, needs_kind = _STEPS[name]
    try:
        yield
    except (NetlinkError, OSError) as error:
        code = error.code if isinstance(error, NetlinkError) else error.errno
        lack = f"this kernel has no {name}: " if needs_kind and code in _NO_SUCH_KIND else ""
        raise LinksError(f"{lack}{what} failed: {error}") from error


def why_not() -> str:
    """Try it in this process, which is of no more use afterwards; the reason where it cannot be done, or empty."""
    try:
        _iproute()
        if not namespace.available():
            return NO_RIGHT
        namespace.enter()
        build(Link(1e9), (0, 1))
    except LinksError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    print(why_not())
    sys.stdout.flush()
    os._exit(0)
