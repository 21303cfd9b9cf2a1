"""Real sessions where something runs out or cannot be written: one error that says what, and what can go on goes on."""

from __future__ import annotations

import os
import re
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.parents import ONE, TOP, Parent, needs, parent
from tests.faults.test_parent_interrupts import repository
from tests.unit.against.repository import commit, worktrees

MOUNTS = "unshare --mount true"


def with_mounts(script: str) -> tuple[str, ...]:
    """A command's first words: it runs in a mount namespace that a shell script has changed, and that goes with it."""
    return ("unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh")


def read_only(folder: Path) -> str:
    return f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}'"


def test_a_folder_for_temporary_files_that_cannot_be_written(tmp_path: Path) -> None:
    """Nor can the usual ones: an error before anything is started. pytest itself then needs -s."""
    needs(MOUNTS)
    with parent(tmp_path) as one:
        top = repository(one)
        commit(top, {"test_suite.py": ONE})
        usual = [folder for folder in map(Path, ("/tmp", "/var/tmp", "/usr/tmp")) if folder.is_dir()]
        wrapper = with_mounts(" && ".join(map(read_only, (*usual, one.temporary, one.folder))))
        for option, text in (
            ("-v", "No folder for logs can be made"),
            ("--tfperf-against=HEAD", "no folder for a wor"),
        ):
            ended = one.run("-s", option, suite=None, wrapper=wrapper)
            assert ended.code == pytest.ExitCode.USAGE_ERROR, ended.output
            assert text in ended.output
            assert "No usable temporary directory" in ended.output
            assert "Set TMPDIR" in ended.output
            assert ended.is_no_verdict(), ended.output
        assert worktrees(top) == 1


def test_a_checkout_that_cannot_be_written(tmp_path: Path) -> None:
    """A gate needs not write there; saving says that it cannot, and another revision needs git to write."""
    needs(MOUNTS)
    with parent(tmp_path) as one:
        top = repository(one)
        commit(top, {"test_suite.py": ONE})
        wrapper = with_mounts(read_only(one.folder))
        report = f"--tfperf-json={one.temporary / 'report.json'}"
        ended = one.run("--tfperf-force-save", report, suite=None, wrapper=wrapper)
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "1 failed" in ended.output
        assert "Read-only file system" in ended.output
        assert "1 no_baseline" in ended.output
        assert ended.is_no_verdict(), ended.output
        (one.temporary / "report.json").unlink()
        ended = one.run("--tfperf-against=HEAD", suite=None, wrapper=wrapper)
        assert ended.code == pytest.ExitCode.USAGE_ERROR, ended.output
        assert "git worktree add failed" in ended.output
        assert ended.is_no_verdict(), ended.output
        assert worktrees(top) == 1


FULL = """
import os, tempfile
from pathlib import Path
import pytest
from steady import steady

FILLER = Path(tempfile.gettempdir(), "filler")

def fill(task):
    with open(FILLER, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            pass
    print("more than there is room for\\n" * 10_000)

def test_it_fills_in_a_run(tf_cluster):
    tf_cluster(workers=1).run(fill)

@pytest.fixture
def no_more_files():
    made = []
    try:
        while True:
            made.append(Path(tempfile.gettempdir(), f"filler-{len(made)}"))
            made[-1].touch()
    except OSError:
        pass
    yield
    for path in (FILLER, *made):
        path.unlink(missing_ok=True)

@pytest.mark.tfperf(steady, strategy="single", variant="full")
def test_it_is_full(no_more_files, tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", variant="room")
def test_there_is_room_again(tfperf):
    tfperf.check()
"""


def test_the_disk_fills_up_while_clusters_run(tmp_path: Path) -> None:
    """In a run it is the task's error, as it prints; where a cluster starts, the cluster's; with room all is well."""
    needs(MOUNTS)
    with parent(tmp_path) as one:
        wrapper = with_mounts(f"mount -t tmpfs -o size=2m,nr_inodes=64 none '{one.temporary}'")
        ended = one.run("--tfperf-json=report.json", suite=FULL, wrapper=wrapper)
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "1 failed, 1 passed, 1 error" in ended.output
        assert "raised OSError: [Errno 28] No space left on device" in ended.output
        assert "The cluster cannot be started: [Errno 28] No space left on device" in ended.output
        assert "Make room on that disk" in ended.output
        assert "regressed" not in ended.output
        assert one.report() == {"test_it_is_full": None, "test_there_is_room_again": "no_baseline"}


FILES = """
import os, resource
import pytest
from steady import steady

@pytest.fixture(params=range(8))
def few_files(request):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + request.param, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)

def where(task):
    return task.id.index

def test_few(few_files, tf_cluster):
    assert list(tf_cluster(workers=3).run(where).values()) == [0, 1, 2]

@pytest.mark.tfperf(steady, strategy="single")
def test_after(tfperf):
    tfperf.check()
"""


def test_few_files_can_be_opened(tmp_path: Path) -> None:
    """Whichever descriptor is the last one: an error that says so, or all is well; and the next cluster is."""
    with parent(tmp_path) as one:
        ended = one.run("-rfE", suite=FILES)
        assert "error" not in ended.output.splitlines()[-1], ended.output
        failures = [line for line in ended.output.splitlines() if line.startswith("FAILED ")]
        assert 1 <= len(failures) <= 7, ended.output
        assert all(" - The cluster cannot be started: " in line for line in failures), ended.output
        assert ended.output.count("Too many open files. No more files can be opened: raise the limit") >= len(failures)


USER = 54_321
"""Nobody's, so that what the limit counts are the session's processes alone."""


@contextmanager
def another_user() -> Iterator[Parent]:
    """A place for sessions of another user than root, whom no limit on processes holds."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become a user who has no other processes")
    place = Path(tempfile.mkdtemp(prefix="tfperf-another-user-", dir="/tmp"))
    try:
        place.chmod(0o755)
        for name in ("pytest_tfperf", "tests/gate", "tests/faults"):
            target = place / "modules" / name.rpartition("/")[2]
            shutil.copytree(TOP / name, target, ignore=shutil.ignore_patterns("__pycache__", "test_*", "conftest.py"))
        with parent(place) as one:
            one.paths.extend(str(place / "modules" / name) for name in ("", "gate", "faults"))
            for path in (one.folder, one.temporary, one.folder / "pytest.ini"):
                os.chown(path, USER, USER)
            tried = one.run("--version", suite=None, limit=become(100))
            if tried.code != 0:
                pytest.skip(f"another user cannot run this interpreter: {tried.output.strip()[-200:]}")
            yield one
    finally:
        shutil.rmtree(place)


def become(most: int) -> Callable[[], None]:
    """What makes a process that user's, who may have so many processes and threads."""

    def limit() -> None:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

    return limit


def test_few_processes_can_be_started() -> None:
    """Too few for the zygote, for a task, for TensorFlow's threads in it: an error, and nobody is left."""
    expected = {
        1: (pytest.ExitCode.USAGE_ERROR, "The cluster cannot be started: .* No more processes can be started"),
        2: (pytest.ExitCode.TESTS_FAILED, "The process that starts the tasks cannot be set up: .*Resource temporarily"),
        8: (pytest.ExitCode.TESTS_FAILED, "worker:0 ended before it gave its result"),
    }
    with another_user() as one:
        for most, (code, text) in expected.items():
            ended = one.run("--tfperf-timeout=100", suite=ONE, limit=become(most))
            assert ended.code == code, f"{most}: {ended.output}"
            assert re.search(text, ended.output), f"{most}: {ended.output}"
            assert "regressed" not in ended.output
