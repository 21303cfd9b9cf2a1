"""The process that starts the tasks: what becomes of it, of them and of pytest's descriptors where something fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.cluster.assembly import start_group
from pytest_tfperf.cluster.nursery import Nursery, SupervisorGoneError
from pytest_tfperf.cluster.ports import PortPicker
from pytest_tfperf.errors import ClusterStartError
from tests.cluster.leftovers import descriptors
from tests.cluster.processes import is_gone, poll, workers


def _nursery(folder: Path) -> Nursery:
    return Nursery("spawn", isolation="host", environ=os.environ, preload=(), run_dir=folder, keep_logs=True, number=1)


def _customized(patch: pytest.MonkeyPatch, folder: Path, code: str, module: str = "zygote") -> None:
    """Have every supervisor run this first, or what else `module` is the program of."""
    text = f"import sys\nif 'pytest_tfperf.cluster.{module}' in sys.orig_argv:\n{code}"
    (folder / "sitecustomize.py").write_text(text)
    patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))


@pytest.fixture
def dies_before_its_first_request(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Kills each supervisor before anything is sent to it; gives their process ids."""
    real, killed = Nursery._send, list[int]()

    def send(self: Nursery, *args: Any) -> None:
        if self.pid not in killed:
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        real(self, *args)

    monkeypatch.setattr(Nursery, "_send", send)
    yield killed
    assert killed
    assert all(map(is_gone, killed))


def test_one_that_dies_at_once_is_an_error_of_the_start(dies_before_its_first_request: list[int]) -> None:
    message = r"The process that starts the tasks has ended \(killed by SIGKILL\)"
    with ClusterLauncher(launcher="spawn", preload=()) as own:
        with pytest.raises(ClusterStartError, match=message):
            own.warm_up()
        with pytest.raises(ClusterStartError, match=message):
            own.wait_until_warm(60)
        with pytest.raises(ClusterStartError, match=r"has ended twice \(killed by SIGKILL\)"):
            own.start(workers(1))
    assert len(dies_before_its_first_request) == 4


def test_a_working_directory_that_is_gone_leaves_no_supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    with ClusterLauncher(launcher="spawn", preload=(), run_dir=tmp_path) as own:
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        before = {child.pid for child in psutil.Process().children()}
        with pytest.raises(ClusterStartError, match="The cluster cannot be started") as warm_up:
            own.warm_up()
        with pytest.raises(ClusterStartError, match="The cluster cannot be started") as wait:
            own.wait_until_warm(60)
        assert {child.pid for child in psutil.Process().children()} <= before
        del warm_up, wait


def test_one_that_cannot_be_started_holds_no_descriptor(tmp_path: Path) -> None:
    before = len(descriptors())
    with pytest.raises(FileNotFoundError) as error:
        _nursery(tmp_path / "gone")
    assert len(descriptors()) == before, "while the error, and so the half-made object, is still there"
    del error


def test_one_that_loses_its_line_ends_the_tasks_before_it_waits_for_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it waits for, pytest's death, never comes here, and its first sleep has no end.
    _customized(
        monkeypatch, tmp_path, "    import time\n    real = time.sleep\n    time.sleep = lambda _: real(3600)\n"
    )
    nursery = _nursery(tmp_path)
    nursery.wait_ready(time.monotonic() + 60)
    group = start_group(nursery, workers(1), {}, None, picker=PortPicker(), preload=(), log_dir=tmp_path / "cluster")
    while not group.pids():
        group.wait(time.monotonic() + 60)
    (task,) = group.pids().values()
    line = socket.socket(fileno=os.dup(nursery.fileno()))
    line.shutdown(socket.SHUT_RDWR)  # as when pytest dies: its sockets close before its children lose it
    line.close()
    poll(lambda: is_gone(task), "the task is gone")
    assert not is_gone(nursery.pid)
    os.kill(nursery.pid, signal.SIGKILL)
    with pytest.raises(SupervisorGoneError):
        nursery.receive()
    group.close(hard=True)


TRIES = """
import os, sys, time
from pathlib import Path
from pytest_tfperf.cluster.nursery import Nursery

nursery = Nursery(
    "spawn", isolation="host", environ=os.environ, preload=(), run_dir=Path(sys.argv[1]), keep_logs=True, number=1
)
nursery.wait_ready(time.monotonic() + 60)
print(nursery.pid, flush=True)
nursery.try_environment({})
"""


def test_a_trial_ends_with_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it goes on, the supervisor reads no requests."""
    marker = tmp_path / "trying"
    code = f"    import time\n    open({str(marker)!r}, 'w').close()\n    time.sleep(3600)\n"
    _customized(monkeypatch, tmp_path, code, module="trial")
    with subprocess.Popen([sys.executable, "-c", TRIES, str(tmp_path)], stdout=subprocess.PIPE) as tries:
        try:
            assert tries.stdout is not None
            supervisor = int(tries.stdout.readline())
            poll(marker.exists, "it tries", 60)
            (trial,) = [child.pid for child in psutil.Process(supervisor).children()]
        finally:
            tries.kill()
    poll(lambda: is_gone(trial), "the trial is gone")
    poll(lambda: is_gone(supervisor), "the supervisor too")


def test_without_a_descriptor_of_pytests_process_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a kernel that is too old for it, or in a sandbox."""
    code = (
        "    import errno, os\n"
        "    def none(pid, flags=0):\n"
        "        raise OSError(errno.ENOSYS, 'Function not implemented')\n"
        "    os.pidfd_open = none\n"
    )
    _customized(monkeypatch, tmp_path, code)
    with ClusterLauncher(launcher="spawn", preload=()) as own, own.start(workers(1)) as cluster:
        assert cluster.run(lambda task: task.id.index, timeout=60)["worker:0"] == 0


def test_an_error_of_its_own_is_in_its_log_and_in_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "    import socket\n"
        "    real = socket.recv_fds\n"
        "    def fails(*args):\n"
        "        real(*args)\n"
        "        raise OSError(5, 'a disk that is broken')\n"
        "    socket.recv_fds = fails\n"
    )
    _customized(monkeypatch, tmp_path, code)
    nursery = _nursery(tmp_path)
    message = r"(?s)has ended \(exit code 1\).*Traceback.*a disk that is broken"
    with pytest.raises(ClusterStartError, match=message):
        nursery.wait_ready(time.monotonic() + 60)


KILLED_ONCE_IT_HAS_TOLD_IT_TO_LEAVE = """
import os, signal, sys
from pathlib import Path
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.cluster.nursery import Nursery

def close(nursery):
    real(nursery)
    os.kill(os.getpid(), signal.SIGKILL)

real, Nursery.close = Nursery.close, close
launcher = ClusterLauncher(launcher="spawn", preload=(), run_dir=Path(sys.argv[1]))
launcher.wait_until_warm(60)
assert launcher.run_dir.is_dir()
launcher.close()
"""


def test_a_pytest_that_is_killed_as_it_ends_leaves_no_folder(tmp_path: Path) -> None:
    """The supervisor, which removes the folder of a pytest that is killed, has been told to leave by then."""
    command = [sys.executable, "-c", KILLED_ONCE_IT_HAS_TOLD_IT_TO_LEAVE, str(tmp_path)]
    killed = subprocess.run(command, check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not list(tmp_path.iterdir())
