"""Which host a task is on, and what is said where hosts cannot be joined."""

from __future__ import annotations

import errno

import pytest

from pytest_tfperf.cluster import links
from pytest_tfperf.cluster.process import task_environ
from pytest_tfperf.cluster.spec import host_address, on_hosts, placements
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.task import Layout, TaskId, TaskPlacement

PLACED = placements(Layout(workers=2, ps=1))


def _hosts(placed: tuple[TaskPlacement, ...]) -> dict[str, int]:
    return {str(one.id): one.host for one in placed}


def test_tasks_are_spread_in_order_or_by_name() -> None:
    assert set(_hosts(PLACED).values()) == {0}
    assert _hosts(on_hosts(PLACED, [0, 1, 2])) == {"worker:0": 0, "worker:1": 1, "ps:0": 2}
    assert _hosts(on_hosts(PLACED, {"worker": 0, "ps": 1})) == {"worker:0": 0, "worker:1": 0, "ps:0": 1}
    assert _hosts(on_hosts(PLACED, {"worker": 0, "worker:1": 5, "ps:0": 1}))["worker:1"] == 5


def test_hosts_that_do_not_fit_the_tasks() -> None:
    with pytest.raises(UsageError, match="2 hosts are given for 3 tasks"):
        on_hosts(PLACED, [0, 1])
    with pytest.raises(UsageError, match="ps:0 is given no host"):
        on_hosts(PLACED, {"worker": 0})
    with pytest.raises(UsageError, match="chief, worker:2 is given a host but is not in the cluster"):
        on_hosts(PLACED, {"worker": 0, "ps": 1, "worker:2": 1, "chief": 0})


def test_addresses() -> None:
    assert [host_address(host) for host in (0, 1, 254, 255)] == ["10.0.0.1", "10.0.0.2", "10.0.0.255", "10.0.1.0"]
    assert len({host_address(host) for host in range(1000)}) == 1000
    with pytest.raises(UsageError, match="-1 is no number of a host"):
        host_address(-1)


def test_no_proxy_stands_between_hosts() -> None:
    spec = {"worker": ("10.0.0.1:1", "10.0.0.2:1"), "ps": ("10.0.0.1:2",)}
    environ = task_environ({}, {}, TaskPlacement(TaskId("ps", 0)), spec, shares_port=False)
    assert environ["no_grpc_proxy"] == "localhost,127.0.0.1,::1,10.0.0.1,10.0.0.2"


def test_what_a_kernel_lacks_is_named() -> None:
    netlink = pytest.importorskip("pyroute2")
    with pytest.raises(links.LinksError, match="this kernel has no tbf: shaping a link failed"), links._step("tbf"):
        raise netlink.NetlinkError(errno.ENOENT, "no such kind")
    with pytest.raises(links.LinksError, match=r"^shaping a link failed"), links._step("tbf"):
        raise netlink.NetlinkError(errno.EPERM, "not permitted")
    with pytest.raises(links.LinksError, match=r"^making a network namespace failed"), links._step("namespace"):
        raise OSError(errno.ENOSPC, "no more namespaces")
