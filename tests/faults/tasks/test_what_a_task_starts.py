"""Processes that a task forks, and what a crash would leave of it."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.errors import TaskDiedError, TaskFailedError
from tests.cluster.processes import is_gone, poll, workers
from tests.faults.tasks.strikes import pids_in


@pytest.mark.parametrize("how", ["returns", "raises", "says"])
def test_a_forked_process_that_goes_on_as_the_task_ends_alone(launcher: ClusterLauncher, how: str) -> None:
    def fork(task: Any) -> int:
        child = os.fork()
        if child == 0:
            if how == "raises":
                raise KeyError("in the child")
            if how == "says":
                task.phase("the child's")
            return -1
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with launcher.start(workers(2)) as cluster:
        assert list(cluster.run(fork, timeout=60).values()) == [70, 70]
        assert "is not the task" in cluster.log_tail("worker:0")
        assert list(cluster.run(lambda task: task.id.index, timeout=60).values()) == [0, 1]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_children_end_with_a_task_that_dies(launcher: ClusterLauncher, tmp_path: Path, number: signal.Signals) -> None:
    def fork(task: Any) -> None:
        import subprocess

        inside = os.fork()
        if inside == 0:
            signal.pause()
        outside = subprocess.Popen(["setsid", "sleep", "3600"])
        (tmp_path / "pids").write_text(f"{inside} {outside.pid}")
        os.kill(os.getpid(), number)

    with pytest.raises(TaskDiedError, match=f"killed by {number.name}"):
        launcher.start(workers(1)).run(fork, timeout=60)
    for pid in pids_in(tmp_path / "pids"):
        poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]


def test_a_crash_leaves_no_core_unless_the_task_asks_for_it(tmp_path: Path) -> None:
    """Where the machine has cores written into the working directory, as many containers do."""

    def crash(task: Any, wanted: bool) -> None:
        if wanted:
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        os.kill(os.getpid(), signal.SIGSEGV)

    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0 or not Path("/proc/sys/kernel/core_pattern").read_text().startswith("core"):
        pytest.skip("this machine writes no core files into the working directory")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        try:
            with ClusterLauncher(launcher="spawn", preload=()) as own:
                for wanted in (False, True):
                    with pytest.raises(TaskDiedError, match="killed by SIGSEGV"):
                        own.start(workers(1)).run(crash, wanted, timeout=60)
                    assert bool(list(tmp_path.glob("core*"))) == wanted
        finally:
            resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def test_a_large_value_is_refused_before_it_travels(launcher: ClusterLauncher) -> None:
    def exchange(task: Any) -> None:
        from pytest_tfperf.cluster.values import MAX_VALUE
        from pytest_tfperf.records.task import TaskId

        task.exchange("weights", bytes(MAX_VALUE + 1), [TaskId("worker", 0)])

    with pytest.raises(TaskFailedError, match=r"exchange 'weights': it takes more than 256 MiB"):
        launcher.start(workers(1)).run(exchange, timeout=60)


def test_a_result_that_cannot_be_read_here_tells_the_tasks_states(launcher: ClusterLauncher) -> None:
    class Odd:
        def __reduce__(self) -> Any:
            import tensorflow as tf

            return tf.constant, (1.0,)

    def give(task: Any) -> Any:
        print("printed by", task.id)
        return Odd() if task.id.index == 1 else None

    with pytest.raises(TaskFailedError, match="worker:1 gave a result that cannot be unpickled here") as caught:
        launcher.start(workers(2)).run(give, timeout=60)
    assert "worker:0: finished, last phase: running" in str(caught.value)
    assert "printed by worker:1" in str(caught.value)
