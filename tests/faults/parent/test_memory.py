"""A real session whose machine runs out of memory: the kernel kills a task, and nothing else of the session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.processes import poll
from tests.faults.control_groups import control_group
from tests.faults.parent.parents import parent

ENOUGH = 3_000_000_000
"""Bytes for a session of two tasks, of which the supervisor has about 0.6 x 10^9 and the tasks share most."""


def test_the_kernel_kills_a_task_for_want_of_memory(tmp_path: Path) -> None:
    """One error that names the task, SIGKILL and that cause; the tests before and after it are measured."""
    limits = {"memory.limit_in_bytes": str(ENOUGH), "memory.max": str(ENOUGH)}
    with parent(tmp_path) as one, control_group("memory", limits) as group:
        if group is None:
            pytest.skip("no control group can be made here that limits memory")
        for name in ("memory.swap.max", "memory.swappiness"):  # or it would be a slow machine instead
            if (group / name).exists():
                (group / name).write_text("0")
        wrapper = ("sh", "-c", f"echo $$ > '{group}/cgroup.procs' && exec \"$@\"", "sh")
        ended = one.run("-rfE", strike="step memory session 1", wrapper=wrapper)
        killed = sum(
            int(count)
            for name in ("memory.oom_control", "memory.events")
            if (group / name).exists()
            for count in re.findall(r"^oom_kill (\d+)$", (group / name).read_text(), re.MULTILINE)
        )
        assert killed == 1, ended.output  # by the kernel, and by nobody else
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "2 passed, 1 error" in ended.output, ended.output
        assert re.search("worker:1 ended before it gave its result: killed by SIGKILL", ended.output), ended.output
        assert "If nobody killed it, the kernel has for want of memory: see dmesg." in ended.output
        assert "regressed" not in ended.output
        poll(lambda: not (group / "cgroup.procs").read_text(), "no process is left")
