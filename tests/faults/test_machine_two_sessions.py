"""Two sessions at once on one machine: the second waits for its turn, and nobody can have it wait for ever."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_tfperf.measurement import device_lock
from pytest_tfperf.measurement.device_lock import DeviceLock, core_folders, holder_of
from tests.cluster.processes import poll
from tests.faults.machine_gate import begun, gate, windows
from tests.faults.machine_places import TOP, python_path

NOBODY = 65_534
FIRST_CORE = min(os.sched_getaffinity(0))
PATIENT = """
import time
from pathlib import Path

import pytest
from pytest_tfperf import workload
from steady import steady

@workload("patient")
def patient(batch_size=8):
    Path("FOLDER", "building").touch()
    while not Path("FOLDER", "go").exists():
        time.sleep(0.05)
    return steady(batch_size)

@pytest.mark.tfperf(patient, strategy="multi_worker_mirrored", replicas=[2])
def test_scales(tfperf):
    tfperf.check()
"""


def test_the_second_session_waits_for_the_first(tmp_path: Path) -> None:
    suite = PATIENT.replace("FOLDER", str(tmp_path))
    first, second = gate(tmp_path / "first", suite), gate(tmp_path / "second", suite)
    with ExitStack() as stack:

        def start(folder: Path) -> subprocess.Popen[str]:
            process = begun(folder, wait=500, output=folder / "output")
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        one = start(first)
        poll((tmp_path / "building").exists, "the first builds its model", 300)
        two = start(second)
        waits = f"waits for another session, which measures on core {FIRST_CORE}: pid {one.pid} in {TOP} ("
        poll(lambda: waits in (second / "output").read_text(), "the second says for whom it waits", 300)
        assert "round 1" not in (second / "output").read_text()
        (tmp_path / "go").touch()
        for process, folder in ((one, first), (two, second)):
            assert process.wait(300) == 0, (folder / "output").read_text()
    assert "another session" not in (first / "output").read_text()
    assert max(end for _, end, _ in windows(first)) < min(start for start, _, _ in windows(second))


# Below, locks of real processes on folders of the test's own, which no other session on this machine has.


@pytest.fixture
def devices(tmp_path: Path) -> list[Path]:
    folders = core_folders([0, 1, 2], tmp_path)
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


HOLDER = """
import fcntl, os, sys, time
user, fork, *folders = sys.argv[1:]
descriptors = []
for folder in folders:
    descriptor = os.open(folder, os.O_RDONLY)
    if int(user) == os.getuid():
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    descriptors.append(descriptor)
if int(user) != os.getuid():
    os.setgroups([]); os.setgid(int(user)); os.setuid(int(user))
    for descriptor in descriptors:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
if fork == "fork" and os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(600)
if fork != "fork":
    print(os.getpid(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Has another process, of some user, lock folders."""
    with ExitStack() as stack:

        def start(*folders: Path, user: int = os.getuid(), fork: bool = False) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", HOLDER, str(user), "fork" if fork else "-", *map(str, folders)]
            process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            if pid != process.pid:
                stack.callback(os.kill, pid, signal.SIGKILL)
            return process

        yield start


@pytest.fixture
def lock() -> Iterator[DeviceLock]:
    lock = DeviceLock()
    yield lock
    lock.close()


def test_a_killed_session_is_waited_for_no_longer(
    hold: Callable[..., subprocess.Popen[str]], devices: list[Path], lock: DeviceLock, tmp_path: Path
) -> None:
    holder = hold(devices[1])
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        holder.kill()

    lock.hold(devices, [], seconds=300, say=say)
    assert said[0] == (
        f"waits for another session, which measures on core 1: pid {holder.pid} in {tmp_path} (for 5 min 0 s at most)"
    )
    assert said[1].startswith("waited ")
    assert [str(holder_of(device)) for device in devices] == [f"pid {os.getpid()} in {os.getcwd()}"] * 3


def test_what_ctrl_c_comes_just_after_is_let_go_of(devices: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, kind: int) -> None:
        fcntl.flock(descriptor, kind)
        signal.raise_signal(signal.SIGINT)

    lock = DeviceLock()
    with monkeypatch.context() as patch:
        patch.setattr(device_lock, "fcntl", SimpleNamespace(**{**vars(fcntl), "flock": flock}))
        with pytest.raises(KeyboardInterrupt):
            lock.hold(devices, [], seconds=0, say=print)
    lock.close()
    assert [holder_of(device) for device in devices] == [None] * 3


def test_the_wait_has_an_end(
    hold: Callable[..., subprocess.Popen[str]], devices: list[Path], lock: DeviceLock, tmp_path: Path
) -> None:
    """What nobody else has is held all the same, so that a third session waits."""
    holder = hold(devices[1])
    said: list[str] = []
    assert 0.5 <= lock.hold(devices, [], seconds=0.5, say=said.append) < 60
    assert said[-1].startswith(f"core 1 is held by pid {holder.pid} in {tmp_path} after ")
    assert said[-1].endswith("still: what it disturbs decides nothing")
    holders = [holder_of(device) for device in devices]
    assert [one.pid if one else None for one in holders] == [os.getpid(), holder.pid, os.getpid()]


def test_another_user_blocks_nobody(
    hold: Callable[..., subprocess.Popen[str]], devices: list[Path], lock: DeviceLock
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another user")
    holder = hold(*devices, user=NOBODY)
    said: list[str] = []
    lock.hold(devices, [], seconds=1e6, say=said.append)
    assert said == [
        f"core 0 is held by pid {holder.pid} of the user nobody, which is not waited for: what it disturbs decides "
        "nothing"
    ]


def test_a_process_that_a_killed_session_has_forked_blocks_nobody(
    hold: Callable[..., subprocess.Popen[str]], devices: list[Path], lock: DeviceLock
) -> None:
    """One that was forked past Python, so that it holds the lock on, under the id of a process that is gone."""
    holder = hold(devices[0], fork=True)
    holder.kill()
    holder.wait()
    said: list[str] = []
    lock.hold(devices, [], seconds=1e6, say=said.append)
    assert said == ["core 0 is held by another session that cannot be seen from here: what it disturbs decides nothing"]


def test_a_process_that_a_session_has_forked_holds_nothing(devices: list[Path], lock: DeviceLock) -> None:
    lock.hold(devices, [], seconds=0, say=print)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        poll(lambda: not _open_in(child, devices), "the child has none of them open")
        lock.close()
        assert [holder_of(device) for device in devices] == [None] * 3
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _open_in(pid: int, devices: list[Path]) -> set[str]:
    links = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            links.add(os.readlink(path))
    return links & {str(device.resolve()) for device in devices}


def test_cores_are_shared_among_those_that_share_them(devices: list[Path], lock: DeviceLock) -> None:
    """Sessions on different GPUs of one machine."""
    other = DeviceLock()
    said: list[str] = []
    try:
        other.hold(devices[:1], devices[1:], seconds=0, say=said.append)
        lock.hold([], devices[1:], seconds=0, say=said.append)
    finally:
        other.close()
    assert said == []


def test_other_cores_are_free(
    hold: Callable[..., subprocess.Popen[str]], devices: list[Path], lock: DeviceLock
) -> None:
    hold(devices[0])
    said: list[str] = []
    lock.hold(devices[1:], [], seconds=0, say=said.append)
    assert said == []


def test_a_session_within_a_test_of_another_does_not_wait(devices: list[Path], lock: DeviceLock) -> None:
    """The outer one waits for it: they would wait for each other."""
    lock.hold(devices, [], seconds=0, say=print)
    inner = f"""
        from pathlib import Path
        from pytest_tfperf.measurement.device_lock import DeviceLock
        DeviceLock().hold([Path(each) for each in {[str(each) for each in devices]}], [], seconds=1e6, say=print)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(inner)],
        env={**os.environ, "PYTHONPATH": python_path()}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_devices_that_cannot_be_locked(tmp_path: Path, lock: DeviceLock) -> None:
    """Another system than Linux, or a container without sysfs: nothing is held, and nobody waits."""
    said: list[str] = []
    lock.hold(core_folders([0, 1], tmp_path / "nowhere"), [], seconds=0, say=said.append)
    assert said == []
