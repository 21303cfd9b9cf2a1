"""What happens to a task once it has given its result: there too an end that nobody asked for is an error."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.cluster import ClusterEvent, ClusterLauncher
from pytest_tfperf.errors import TaskDiedError
from pytest_tfperf.records.task import TaskId
from tests.cluster.processes import is_gone, poll, workers
from tests.faults.tasks.strikes import wait_until


def _headline(error: BaseException) -> str:
    return str(error).splitlines()[0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_one_that_dies_while_others_still_run(number: signal.Signals, tmp_path: Path) -> None:
    def run(task: Any, release: Path) -> None:
        task.phase("at work")
        # Whoever finishes is killed at once: not before the other is at work too.
        task.exchange("at work", None, [TaskId("worker", 0), TaskId("worker", 1)])
        if task.id.index == 0:
            wait_until(release.exists, "never")

    pids: dict[TaskId, int] = {}

    def kill(event: ClusterEvent) -> None:
        if event.kind == "finished" and event.task is not None:
            os.kill(pids[event.task], number)

    with ClusterLauncher(launcher="spawn", preload=(), on_event=kill) as own:
        cluster = own.start(workers(2))
        pids.update(cluster.pids)
        with pytest.raises(TaskDiedError) as caught:
            cluster.run(run, tmp_path / "release", timeout=60)
    expected = f"worker:1 ended after it had given its result: killed by {number.name}, in phase 'at work'."
    assert _headline(caught.value).startswith(expected)
    assert "worker:0: running, last phase: at work" in str(caught.value)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_one_that_dies_when_all_have_given_theirs(launcher: ClusterLauncher, number: signal.Signals) -> None:
    cluster = launcher.start(workers(2))
    cluster.run(lambda task: print("printed by", task.id), timeout=60)
    pids = list(cluster.pids.values())
    os.kill(pids[1], number)
    poll(lambda: not psutil.pid_exists(pids[1]), "it was reaped")
    with pytest.raises(TaskDiedError) as caught:
        cluster.close()
    assert _headline(caught.value).startswith(
        f"worker:1 ended after it had given its result: killed by {number.name}, in phase 'running'."
    )
    assert "printed by worker:1" in str(caught.value)
    assert cluster.closed
    assert all(map(is_gone, pids))
    cluster.close()  # told once


def test_one_that_exits_otherwise_than_it_was_asked_to(launcher: ClusterLauncher) -> None:
    def run(task: Any) -> None:
        class Ends:
            """Flushed as the task leaves, and not before."""

            def flush(self) -> None:
                os._exit(3)

        if task.id.index == 1:
            sys.stdout = Ends()

    cluster = launcher.start(workers(2))
    cluster.run(run, timeout=60)
    with pytest.raises(TaskDiedError) as caught:
        cluster.close()
    expected = "worker:1 ended after it had given its result: exit code 3, in phase 'running'."
    assert _headline(caught.value).startswith(expected)


def test_one_that_is_stopped_when_all_have_given_theirs_is_removed(launcher: ClusterLauncher) -> None:
    with launcher.start(workers(2)) as cluster:
        assert cluster.run(lambda task: task.id.index, timeout=60)["worker:1"] == 1
        pids = list(cluster.pids.values())
        os.kill(pids[1], signal.SIGSTOP)
    assert all(map(is_gone, pids))


def test_an_error_of_the_test_is_not_hidden_by_a_task_that_dies_with_it(launcher: ClusterLauncher) -> None:
    cluster = launcher.start(workers(1))
    (pid,) = cluster.pids.values()

    def test() -> None:
        with cluster:
            os.kill(pid, signal.SIGKILL)
            raise KeyError("the test's own")

    with pytest.raises(KeyError, match="the test's own"):
        test()
    assert is_gone(pid)
