"""A second, real user of the machine tries what can be tried, beside sessions and in folders that both can write."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from benchmarks.canned_report import canned_report
from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.cluster.compile_cache import CompileCache
from pytest_tfperf.config import Outputs
from pytest_tfperf.reporting import write_file, write_reports
from pytest_tfperf.workloads.cifar_records import records_file
from tests.cluster.processes import poll, workers
from tests.faults.machine_gate import SUITE, arguments, gate
from tests.faults.machine_nobody import SOMEBODY, as_user
from tests.faults.machine_places import TOP, python_path

_PIDFD_GETFD = 438
_PTRACE_SEIZE = 0x4206


def succeeds(attempt: Callable[[], object]) -> bool:
    try:
        return attempt() is not False
    except OSError:
        return False


def attempts(pids: list[int], folder: str) -> list[str]:
    """What of a session a process can get at: memory, descriptors, network and signals of its processes, and files."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = []

    def attempt(what: str, how: Callable[[], object]) -> None:
        if succeeds(how):
            done.append(what)

    for pid in pids:
        for name in ("environ", "mem", "maps", "ns/net", "root", "cwd"):
            attempt(f"open {name} of {pid}", lambda pid=pid, name=name: os.close(os.open(f"/proc/{pid}/{name}", 0)))  # type: ignore[misc]
        attempt(f"list descriptors of {pid}", lambda pid=pid: os.listdir(f"/proc/{pid}/fd"))  # type: ignore[misc]
        for number in range(32):
            path = f"/proc/{pid}/fd/{number}"
            attempt(f"open {path}", lambda path=path: os.close(os.open(path, os.O_RDWR)))  # type: ignore[misc]
        pidfd = os.pidfd_open(pid)
        for number in range(32):
            attempt(
                f"take descriptor {number} of {pid}",
                lambda pidfd=pidfd, number=number: libc.syscall(_PIDFD_GETFD, pidfd, number, 0) >= 0,  # type: ignore[misc]
            )
        attempt(f"trace {pid}", lambda pid=pid: libc.ptrace(_PTRACE_SEIZE, pid, None, None) == 0)  # type: ignore[misc]
        attempt(f"signal {pid}", lambda pid=pid: os.kill(pid, 0))  # type: ignore[misc]
    attempt(f"list {folder}", lambda: os.listdir(folder))
    attempt(f"write into {folder}", lambda: os.close(os.open(f"{folder}/planted", os.O_CREAT | os.O_WRONLY)))
    for name in ("cluster-1", "compile-cache", "compile-cache/programs"):
        attempt(f"list {name}", lambda name=name: os.listdir(f"{folder}/{name}"))  # type: ignore[misc]
    for name in ("supervisor-1.log", "cluster-1/worker-0.log", "cluster-1/worker-1.log"):
        attempt(f"open {name}", lambda name=name: os.close(os.open(f"{folder}/{name}", 0)))  # type: ignore[misc]
    return done


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can get to, unlike those that pytest makes."""
    folder = Path(tempfile.mkdtemp(prefix="tfperf-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def shared(place: Path) -> Path:
    """One that everybody can write to, as /tmp is."""
    folder = place / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def test_nothing_of_a_running_session_is_within_reach(shared: Path) -> None:
    def wait(task: Any) -> None:
        print("a line in the log")
        task.exchange("all are up", None, [task.id])

    with ExitStack() as stack:
        launcher = stack.enter_context(ClusterLauncher(launcher="spawn", preload=(), run_dir=shared))
        cluster = stack.enter_context(launcher.start(workers(2)))
        cluster.run(wait, timeout=60)
        assert launcher.run_dir is not None
        assert launcher.supervisor_pid is not None
        CompileCache(launcher.run_dir / "compile-cache")
        pids = [os.getpid(), launcher.supervisor_pid, *cluster.pids.values()]
        assert as_user(attempts, pids, str(launcher.run_dir)) == []
        own = attempts(pids[1:], str(launcher.run_dir))
        # That the session's own user can shows that there was something to get at.
        for what in ("open environ of", "list descriptors of", "take descriptor", "signal", "open worker-0.log"):
            assert any(what.replace("open worker", "open cluster-1/worker") in one for one in own), (what, own)
        for pid in pids[1:]:
            names = [one.laddr for one in psutil.Process(pid).net_connections(kind="unix")]
            assert not any(names), f"{pid} has a socket with a name: {names}"


def precious(folder: Path) -> Path:
    path = folder / "precious"
    path.write_text("mine")
    return path


@pytest.mark.parametrize("mode", [0o1777, 0o777], ids=["sticky", "not_sticky"])
def test_a_report_is_not_written_through_what_somebody_planted(shared: Path, place: Path, mode: int) -> None:
    shared.chmod(mode)
    target = precious(place)

    def plant() -> None:
        os.symlink(target, shared / "link.json")
        os.symlink(place, shared / "folder")
        os.mkfifo(shared / "pipe.json", 0o666)
        (shared / "file.json").touch()
        (shared / "file.json").chmod(0o666)

    as_user(plant)
    for name in ("link.json", "folder/precious", "pipe.json", "file.json"):
        with pytest.raises(PermissionError, match="another user, in a folder that everybody can write to"):
            write_file(shared / name, b"a report")
    assert target.read_text() == "mine"
    assert (shared / "file.json").read_text() == ""
    # A link of one's own is followed, as ever, and so is one in a folder that only oneself can write to.
    (shared / "own.json").symlink_to(place / "report.json")
    write_file(shared / "own.json", b"a report")
    assert (place / "report.json").read_bytes() == b"a report"


OUTPUTS = {
    "json": "{}",
    "markdown": "{}",
    "html": "{}",
    "tensorboard": "{}",
    "history": "sqlite:///{}",
}


@pytest.mark.parametrize("name", [*OUTPUTS, "job_summary"])
def test_no_kind_of_report_is_written_through_a_link_that_is_planted_while_a_session_runs(
    shared: Path, place: Path, name: str
) -> None:
    target = place / "precious"
    if name == "tensorboard":
        target.mkdir()
    else:
        target.write_bytes(b"")  # which SQLite takes for a database that is still empty
    as_user(lambda: os.symlink(target, shared / "link"))
    where = OUTPUTS.get(name, "{}").format(shared / "link")
    report = canned_report(place / "session", 4)
    given: dict[str, Any] = {name: where if name == "history" else Path(where)}
    (written,) = write_reports(report, Outputs(**given))
    assert written.failed
    assert "another user, in a folder that everybody can write to" in written.text
    assert list(target.iterdir()) == [] if name == "tensorboard" else target.read_bytes() == b""


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_planted_before_a_session_keeps_it_from_beginning(shared: Path, place: Path, name: str) -> None:
    target = precious(place)
    as_user(lambda: os.symlink(target, shared / "link"))
    where = OUTPUTS[name].format(shared / "link")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--tfperf-{name}={where}", str(place)]
    done = subprocess.run(
        command, cwd=place, env={**os.environ, "PYTHONPATH": python_path()}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"--tfperf-{name} {shared}/link: {shared}/link: it belongs to another user" in done.stderr


def test_records_are_not_taken_from_what_somebody_planted(shared: Path) -> None:
    """Where no folder for caches can be written, those that are generated lie among temporary files."""

    def asked() -> str:
        os.environ.update(XDG_CACHE_HOME="", HOME="/nowhere", TMPDIR=str(shared))
        import tempfile

        tempfile.tempdir = None
        try:
            return str(records_file(10))
        except OSError as error:
            return str(error)

    pytest.importorskip("numpy")  # here, as that user may not be able to read where it lies
    name = f"pytest-tfperf-{SOMEBODY}"
    as_user(lambda: (shared / name).mkdir(mode=0o777))
    assert "no folder for generated records can be written" in as_user(asked, user=SOMEBODY)
    (shared / name).rmdir()
    as_user(lambda: (shared / name).symlink_to("/"))
    assert "no folder for generated records can be written" in as_user(asked, user=SOMEBODY)
    (shared / name).unlink()
    made = Path(as_user(asked, user=SOMEBODY))
    assert made.parent == shared / name
    assert made.is_file()
    assert as_user(lambda: [succeeds(lambda: made.open("rb")), succeeds((shared / name / "x").touch)]) == [
        False,
        False,
    ]


ATTACKER = """
import os, shutil, sys, time
shared, suite, secret = sys.argv[1:]
done, seen = set(), set()

def attempt(what, how):
    try:
        how()
    except OSError:
        return
    done.add(what)

def plant(name, target):
    attempt(f"planted {name}", lambda: os.symlink(target, f"{shared}/{name}"))

print("ready", flush=True)
while not os.path.exists(f"{shared}/over"):
    for name in set(os.listdir(shared)) - {"over"}:
        path = f"{shared}/{name}"
        try:
            if os.lstat(path).st_uid == os.getuid():
                continue
        except OSError:
            continue
        seen.add(name)
        attempt(f"listed {name}", lambda: os.listdir(path))
        attempt(f"wrote into {name}", lambda: open(f"{path}/sitecustomize.py", "x"))
        attempt(f"read {name}", lambda: open(path).read(1))
        attempt(f"wrote {name}", lambda: open(path, "r+"))
        attempt(f"moved {name}", lambda: os.rename(path, path + "-mine"))
        attempt(f"removed {name}", lambda: os.rmdir(path))
        attempt(f"unlinked {name}", lambda: os.unlink(path))
    for name in ("baselines", ".pytest_cache", "conftest.py", "sitecustomize.py", "test_suite.py"):
        attempt(f"planted {name} in the suite", lambda: os.symlink(secret, f"{suite}/{name}"))
        attempt(f"wrote {name} in the suite", lambda: open(f"{suite}/{name}", "a"))
    for name in ("baselines/planted", ".pytest_cache/v/planted"):
        attempt(f"planted {name} in the suite", lambda: open(f"{suite}/{name}", "x"))
print("saw", *sorted(seen))
print("did", *sorted(done))
"""


def test_a_whole_session_of_an_ordinary_user_beside_one_who_attacks_it(shared: Path, place: Path) -> None:
    """Folders for temporary files, baselines, caches and reports: the attacker sees names, and does nothing to them."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be two other users")
    home = place / "home"
    home.mkdir()
    folder = gate(home / "suite", SUITE)
    target = precious(home)
    for path in (home, *home.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY)
    with ExitStack() as stack:

        def start(*command: str, user: int, **environ: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.machine_places", "of_another_user", sys.executable, *command],
                cwd=TOP, env={**os.environ, "PYTHONPATH": python_path(), "TEST_USER": str(user), **environ},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        attacker = start("-c", ATTACKER, str(shared), str(folder), str(target), user=SOMEBODY + 1)
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == "ready\n"
        victim = start(
            *arguments(folder, "--tfperf-force-save", "--tfperf-keep-logs"),
            user=SOMEBODY, HOME=str(home), TMPDIR=str(shared), XDG_CACHE_HOME="",
        )  # fmt: skip
        output, _ = victim.communicate(timeout=500)
        assert victim.returncode == 0, output
        assert "1 passed" in output
        poll(lambda: bool(list(shared.glob("pytest-tfperf-*"))), "logs are kept, so there is something to see")
        (shared / "over").touch()
        said, _ = attacker.communicate(timeout=100)
    saw, did = said.splitlines()
    assert "pytest-tfperf-" in saw
    assert did == "did"
    assert target.read_text() == "mine"
    assert len(list(folder.glob("baselines/*/*.yaml"))) == 1
