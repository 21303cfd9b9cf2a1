"""Processes that lead a group: they end with it, and no group is signalled that may be another's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_tfperf.against import git as git_module
from pytest_tfperf.against.ending import code_within, end_group, signal_group
from tests.cluster.processes import is_gone, poll

MEMBER = """
import os, subprocess, sys
member = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
with open(sys.argv[1], "w") as file:
    print(member.pid, file=file)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[bytes], int]]]:
    """Starts a leader that goes on as it is told to, and gives it with the id of a member of its group."""
    members: list[int] = []

    def one(then: str) -> tuple[subprocess.Popen[bytes], int]:
        file = tmp_path / "member"
        process = subprocess.Popen([sys.executable, "-c", MEMBER + then, str(file)], start_new_session=True)
        poll(lambda: file.exists() and file.read_text().endswith("\n"), "it has started its member", 60)
        members.append(int(file.read_text()))
        return process, members[-1]

    yield one
    for member in members:
        if not is_gone(member):
            os.kill(member, signal.SIGKILL)


@pytest.mark.parametrize(("then", "code"), [("raise SystemExit(3)", 3), ("os.kill(os.getpid(), 9)", -9)])
def test_what_a_leader_that_has_ended_left_is_killed(
    start: Callable[[str], tuple[subprocess.Popen[bytes], int]], then: str, code: int
) -> None:
    process, member = start(then)
    assert code_within(process, 60) == code
    assert not is_gone(member)
    end_group(process, 0)
    assert process.returncode == code
    assert code_within(process, 0) == code
    poll(lambda: is_gone(member), "the member is gone")


def test_a_leader_that_goes_on_is_killed_with_its_group(
    start: Callable[[str], tuple[subprocess.Popen[bytes], int]],
) -> None:
    process, member = start("while True: pass")
    assert code_within(process, 0) is None
    end_group(process, 0)
    assert process.returncode == -signal.SIGKILL
    poll(lambda: is_gone(member), "the member is gone")


def test_once_a_leader_is_reaped_its_id_is_not_signalled(
    start: Callable[[str], tuple[subprocess.Popen[bytes], int]],
) -> None:
    """What lives on under its group's id stands for a group of somebody else's."""
    process, member = start("raise SystemExit(0)")
    process.wait()
    signal_group(process, signal.SIGTERM)
    end_group(process, 0)
    git_module._end(process)  # type: ignore[arg-type]
    assert not is_gone(member)


def test_git_that_ends_in_time_is_not_killed(start: Callable[[str], tuple[subprocess.Popen[bytes], int]]) -> None:
    process, member = start("import time; time.sleep(3600)")
    git_module._end(process)  # type: ignore[arg-type]
    assert process.returncode == -signal.SIGTERM
    poll(lambda: is_gone(member), "the member is gone")
