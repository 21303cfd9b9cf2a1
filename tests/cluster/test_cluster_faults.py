"""Tasks that raise, die, hang or lie: an error that names them, and nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.cluster import ClusterLauncher, LauncherKind
from pytest_tfperf.errors import (
    ClusterTimeoutError,
    MeasurementError,
    TaskDiedError,
    TaskFailedError,
    TensorFlowMissingError,
    UsageError,
)
from pytest_tfperf.records.task import TaskId, TaskPlacement
from tests.cluster.processes import is_gone, poll, workers


def _headline(error: BaseException) -> str:
    return str(error).splitlines()[0]


def _wait_for_all(task: Any) -> None:
    task.exchange("never", None, [TaskId("worker", index) for index in range(len(task.cluster["worker"]))])


def test_a_function_that_raises(launcher: ClusterLauncher) -> None:
    def build(task: Any) -> None:
        task.phase("build")
        if task.id.index == 1:
            print("about to fail")
            raise ValueError("no such model\nsecond line")
        _wait_for_all(task)

    cluster = launcher.start(workers(3))
    began = time.monotonic()
    with pytest.raises(TaskFailedError) as caught:
        cluster.run(build, timeout=60)
    assert time.monotonic() - began < 30
    assert _headline(caught.value) == "worker:1 raised ValueError: no such model (in phase 'build')"
    text = str(caught.value)
    assert 'raise ValueError("no such model' in text
    assert "about to fail" in text
    states = {state.task: state.state for state in caught.value.tasks}
    assert states["worker:1"] == "raised ValueError"
    assert states["worker:0"] == "waiting in the exchange 'never' for worker:1"
    assert cluster.closed


def test_an_error_of_this_package_is_the_cause(launcher: ClusterLauncher) -> None:
    def measure(task: Any) -> None:
        raise MeasurementError("the clock went backwards")

    with pytest.raises(TaskFailedError, match="the clock went backwards") as caught:
        launcher.start(workers(1)).run(measure)
    assert isinstance(caught.value.__cause__, MeasurementError)


def test_a_usage_error_is_told_in_its_one_line(launcher: ClusterLauncher) -> None:
    def build(task: Any) -> None:
        task.phase("build")
        raise UsageError("width is a multiple of 8, not 9.")

    with pytest.raises(TaskFailedError) as caught:
        launcher.start(workers(1)).run(build)
    assert caught.value.summary == (
        "worker:0 raised pytest_tfperf.errors.UsageError: width is a multiple of 8, not 9. (in phase 'build')"
    )
    assert isinstance(caught.value.__cause__, UsageError)


@pytest.mark.parametrize("how", ["launcher", "spawn_launcher"])
def test_a_killed_task_while_others_wait(how: str, request: pytest.FixtureRequest) -> None:
    def train(task: Any) -> None:
        import os
        import signal

        task.phase("train")
        print("last words of", task.id)
        if task.id.index == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        _wait_for_all(task)

    cluster = request.getfixturevalue(how).start(workers(4))
    with pytest.raises(TaskDiedError) as caught:
        cluster.run(train, timeout=60)
    assert _headline(caught.value).startswith(
        "worker:2 ended before it gave its result: killed by SIGKILL, in phase 'train'."
    )
    assert "last words of worker:2" in str(caught.value)
    assert "last words of worker:0" not in str(caught.value)


def test_a_rank_that_is_killed_within_a_collective_job(launcher: ClusterLauncher) -> None:
    def train(task: Any) -> None:
        import tensorflow as tf

        strategy = tf.distribute.MultiWorkerMirroredStrategy()

        @tf.function  # type: ignore[untyped-decorator, unused-ignore]
        def step():  # type: ignore[no-untyped-def]
            return strategy.reduce("SUM", strategy.run(lambda: tf.ones([1000])), axis=None)

        step()
        task.phase("train")
        if task.id.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            step()

    with pytest.raises(TaskDiedError) as caught:
        launcher.start(workers(3)).run(train, timeout=120)
    assert _headline(caught.value).startswith(
        "worker:1 ended before it gave its result: killed by SIGKILL, in phase 'train'."
    )


def test_a_task_that_cannot_be_set_up(launcher: ClusterLauncher) -> None:
    placement = TaskPlacement(TaskId("worker", 0), cores=(8191,))
    with pytest.raises(TaskDiedError, match=r"worker:0 ended .* in phase 'starting'") as caught:
        launcher.start([placement])
    assert "sched_setaffinity" in str(caught.value)


def test_an_exit_code(launcher: ClusterLauncher) -> None:
    def leave(task: Any) -> None:
        if task.id.index == 0:
            os._exit(3)
        sys.exit(4)

    cluster = launcher.start(workers(2))
    with pytest.raises(TaskDiedError, match=r"worker:[01] ended before it gave its result: exit code [34]"):
        cluster.run(leave, timeout=60)


def test_the_cause_and_not_its_effects_is_named(launcher: ClusterLauncher, tmp_path: Path) -> None:
    class UnavailableError(Exception):
        pass

    def lose(task: Any, failed: Path) -> None:
        if task.id.index == 1:
            failed.touch()
            raise UnavailableError("lost worker:2")
        if task.id.index == 2:
            poll(failed.exists, "another task is about to fail")
            raise KeyError("the cause")
        _wait_for_all(task)

    with pytest.raises(TaskFailedError, match="worker:2 raised KeyError"):
        launcher.start(workers(3)).run(lose, tmp_path / "failed", timeout=60)


def test_a_hang_names_the_task_its_phase_and_its_stack(launcher: ClusterLauncher) -> None:
    def spin_for_ever() -> None:
        while True:
            time.sleep(0.01)

    def hang(task: Any) -> None:
        task.phase("step 7")
        if task.id.index == 0:
            spin_for_ever()
        _wait_for_all(task)

    cluster = launcher.start(workers(2))
    with pytest.raises(ClusterTimeoutError) as caught:
        cluster.run(hang, timeout=1.0)
    assert _headline(caught.value).startswith("worker:0 (in phase 'step 7') not finished within the deadline of 1 s.")
    assert "spin_for_ever" in str(caught.value)


def test_a_worker_that_never_connects(launcher: ClusterLauncher) -> None:
    def connect(task: Any) -> None:
        if task.id.index == 1:
            task.phase("not connecting")
            time.sleep(3600)
        task.phase("connecting")
        import tensorflow as tf

        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        strategy.reduce("SUM", tf.constant(1.0), axis=None)

    with pytest.raises(ClusterTimeoutError) as caught:
        launcher.start(workers(2)).run(connect, timeout=3.0)
    assert "worker:1 (in phase 'not connecting')" in _headline(caught.value)
    assert "deadline of 3 s" in _headline(caught.value)


def test_waits_that_can_never_end_are_no_timeouts(launcher: ClusterLauncher) -> None:
    def miss(task: Any) -> None:
        if task.id.index == 0:
            _wait_for_all(task)

    with pytest.raises(TaskFailedError, match=r"worker:0 waits in the exchange 'never' for worker:1, which runs no"):
        launcher.start(workers(2)).run(miss, timeout=600)


def test_a_task_that_ignores_sigterm_and_what_it_started(launcher: ClusterLauncher, tmp_path: Path) -> None:
    def stubborn(task: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if task.id.index == 0:
            inside = subprocess.Popen(["sleep", "3600"])
            outside = subprocess.Popen(["setsid", "sh", "-c", "sleep 3600 & wait"])
            (tmp_path / "pids").write_text(f"{inside.pid} {outside.pid}")
            raise ValueError("now")
        time.sleep(3600)

    cluster = launcher.start(workers(2))
    pids = list(cluster.pids.values())
    with pytest.raises(TaskFailedError, match="worker:0 raised ValueError"):
        cluster.run(stubborn, timeout=60)
    pids += [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    for pid in pids:
        poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]


def test_results_that_cannot_travel(launcher: ClusterLauncher) -> None:
    def lock(task: Any) -> Any:
        import threading

        return threading.Lock()

    def tensor(task: Any) -> Any:
        import tensorflow as tf

        return tf.constant(1.0)

    with pytest.raises(TaskFailedError, match=r"worker:0 ran its function, but its result, a lock, cannot be pickled"):
        launcher.start(workers(1)).run(lock)
    with pytest.raises(TaskFailedError, match=r"tensor.numpy\(\)"):
        launcher.start(workers(1)).run(tensor)


def test_a_function_that_cannot_travel(launcher: ClusterLauncher) -> None:
    import threading

    lock = threading.Lock()
    with launcher.start(workers(1)) as cluster:
        with pytest.raises(UsageError, match="cannot be sent to a task"):
            cluster.run(lambda task: lock)
        assert cluster.run(lambda task: 1)["worker:0"] == 1, "nothing was sent, so nothing is lost"


def test_ctrl_c(launcher: ClusterLauncher) -> None:
    def interrupt(task: Any, parent: int) -> None:
        os.kill(parent, signal.SIGINT)
        time.sleep(3600)

    cluster = launcher.start(workers(2))
    pids = list(cluster.pids.values())
    # Whoever runs the tests in the background of a shell has this process ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            cluster.run(interrupt, os.getpid(), tasks=["worker:0"], timeout=60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert all(map(is_gone, pids))


def test_the_zygote_is_killed() -> None:
    with ClusterLauncher(launcher="spawn", preload=()) as own:
        cluster = own.start(workers(2))
        supervisor, pids = own.supervisor_pid, list(cluster.pids.values())
        assert supervisor is not None

        def kill(task: Any) -> None:
            if task.id.index == 0:
                os.kill(supervisor, signal.SIGKILL)
            time.sleep(3600)

        with pytest.raises(TaskDiedError, match=r"supervises the tasks has ended \(killed by SIGKILL\)"):
            cluster.run(kill, timeout=60)
        for pid in pids:
            poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]
        with own.start(workers(1)) as again:
            assert again.run(lambda task: "alive")["worker:0"] == "alive"
        second = own.supervisor_pid
        assert second is not None
        os.kill(second, signal.SIGKILL)  # this time between clusters, and nobody waits for it to be seen
        with own.start(workers(1)) as again:
            assert again.run(lambda task: "alive")["worker:0"] == "alive"


def test_pytest_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, subprocess, sys, time
            from pytest_tfperf.cluster import ClusterLauncher, placements
            from pytest_tfperf.records.task import Layout

            def hang(task):
                started = subprocess.Popen(["sleep", "3600"])
                print(os.getpid(), started.pid, file=open(f"{sys.argv[0]}.{task.id.index}", "w"), flush=True)
                time.sleep(3600)

            if __name__ == "__main__":
                launcher = ClusterLauncher(launcher="spawn", preload=(), run_dir=os.path.dirname(sys.argv[1]))
                cluster = launcher.start(placements(Layout(workers=2)), env={"OUT": sys.argv[1]})
                print(launcher.supervisor_pid, file=open(sys.argv[1] + ".supervisor", "w"), flush=True)
                cluster.run(hang)
            """
        ).replace('f"{sys.argv[0]}.{task.id.index}"', 'os.environ["OUT"] + f".{task.id.index}"')
    )
    out = tmp_path / "out"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    files = [tmp_path / f"out.{name}" for name in ("supervisor", "0", "1")]
    with subprocess.Popen([sys.executable, str(script), str(out)], env=environ) as parent:
        poll(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files), "all run", 60)
        pids = [int(pid) for file in files for pid in file.read_text().split()]
        assert len(pids) == 5
        assert all(psutil.pid_exists(pid) for pid in pids)
        assert len(list(tmp_path.glob("pytest-tfperf-*"))) == 1
        parent.kill()
    for pid in pids:
        poll(lambda pid=pid: is_gone(pid), f"{pid} has ended")  # type: ignore[misc]
    poll(lambda: not list(tmp_path.glob("pytest-tfperf-*")), "the folder with the logs is gone")


def test_a_start_that_takes_too_long(tmp_path: Path) -> None:
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(3600)\n")
    message = r"worker:0 \(in phase 'starting'\).*not ready.*start_timeout"
    with ClusterLauncher(launcher="spawn", preload=("slow_to_import",)) as own, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        own.wait_until_warm(120)
        with pytest.raises(ClusterTimeoutError, match=message):
            own.start(workers(2), start_timeout=2.0)


def test_no_tensorflow(tmp_path: Path) -> None:
    blocker = "import sys\nsys.modules['tensorflow'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nreal = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'tensorflow' else real(name, package)\n" + blocker
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
        kinds: tuple[LauncherKind, ...] = ("zygote", "spawn")
        for kind in kinds:
            message = r"pip install 'pytest-tfperf\[cpu\]'"
            with ClusterLauncher(launcher=kind) as own, pytest.raises(TensorFlowMissingError, match=message):
                own.start(workers(1))
