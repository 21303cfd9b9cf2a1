"""A log of a gigabyte: it stops nobody, takes little disk, and is there to be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.cluster.logs import LIMIT
from tests.cluster.processes import workers
from tests.faults.tasks.strikes import LOG_MIB, LOG_ON_DISK, MIB, wait_until, write_a_gigabyte


def test_a_gigabyte_is_no_fault(launcher: ClusterLauncher) -> None:
    def flood(task: Any) -> int:
        if task.id.index == 1:
            write_a_gigabyte()
            print("after a gigabyte")
        return int(os.fstat(1).st_size)

    with launcher.start(workers(2)) as cluster:
        sizes = cluster.run(flood, timeout=300)
        assert sizes["worker:1"] > LOG_MIB * MIB
        assert sizes["worker:0"] == 0
        assert cluster.log_tail("worker:1").endswith("after a gigabyte")


def test_a_log_that_keeps_growing_never_takes_more_than_its_limit_and_what_comes_between_two_looks(
    launcher: ClusterLauncher,
) -> None:
    piece = LIMIT // 2

    def grow(task: Any) -> int:
        most = 0
        for _ in range(12):
            os.write(1, b"x" * piece)
            most = max(most, os.fstat(1).st_blocks * 512)
            # So fast and no faster than somebody looks.
            wait_until(lambda: os.fstat(1).st_blocks * 512 <= LIMIT + MIB, "the log is within its limit")
        return most

    with launcher.start(workers(1)) as cluster:
        assert cluster.run(grow, timeout=300)["worker:0"] <= LOG_ON_DISK


def test_a_log_that_is_kept_has_its_beginning_and_its_end(tmp_path: Path) -> None:
    def flood(task: Any) -> None:
        print("the first line")
        write_a_gigabyte()
        print("the last line")

    own = ClusterLauncher(launcher="spawn", preload=(), run_dir=tmp_path, keep_logs=True)
    with own, own.start(workers(1)) as cluster:
        cluster.run(flood, timeout=300)
    (log,) = tmp_path.glob("*/cluster-1/*")
    assert log.stat().st_size < LOG_ON_DISK
    assert log.stat().st_mode & 0o777 == 0o600
    lines = log.read_text().splitlines()
    assert lines[0] == "the first line"
    assert lines[-1] == "the last line"
    assert any(line.endswith("bytes of this log were not kept]") for line in lines)
    assert "\0" not in log.read_text()


@pytest.mark.parametrize("line", ["x" * (4 * MIB), "\x1b[31m" * MIB])
def test_a_line_without_end_is_cut_in_the_error(launcher: ClusterLauncher, line: str) -> None:
    def fail(task: Any) -> None:
        print(line)
        raise ValueError(line)

    with pytest.raises(Exception, match="raised ValueError") as caught:
        launcher.start(workers(1)).run(fail, timeout=60)
    assert len(str(caught.value)) < 200_000
