"""Real sessions where something runs out or cannot be written: one error that says what, and what can go on goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.processes import poll
from tests.faults.control_groups import control_group
from tests.faults.parent.parents import ONE, Ended, needs, parent, repository
from tests.unit.against.repository import commit, worktrees

MOUNTS = "unshare --mount mount -t tmpfs none /mnt"


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
        assert ended.output.count("No more files can be opened: raise the limit") >= len(failures)


FORKS_TWO = """
def test_two(tf_cluster):
    tf_cluster(workers=2)
"""
NO_MORE = "No more processes can be started"


def test_few_processes_can_be_started(tmp_path: Path) -> None:
    """Too few for the zygote; for a task; for two tasks, or for TensorFlow's threads in one.

    By a control group: root heeds it, as it heeds no RLIMIT_NPROC.
    """
    with parent(tmp_path) as one, control_group("pids", {"pids.max": "max"}) as group:
        if group is None:
            pytest.skip("no control group can be made here that counts processes")
        # Before Python: it starts no process of its own.
        wrapper = ("sh", "-c", f"echo $$ > '{group}/cgroup.procs' && exec \"$@\"", "sh")

        def session(most: int, suite: str) -> Ended:
            (group / "pids.max").write_text(str(most))
            options = ("--no-tfperf-compile-cache", "--tfperf-timeout=100")
            ended = one.run(*options, suite=suite, wrapper=wrapper, OPENBLAS_NUM_THREADS="1")
            assert "regressed" not in ended.output
            poll(lambda: not (group / "cgroup.procs").read_text(), "no process is left")
            return ended

        ended = session(1, ONE)
        assert ended.code == pytest.ExitCode.USAGE_ERROR, ended.output
        assert re.search(f"The cluster cannot be started: .* {NO_MORE}", ended.output), ended.output
        ended = session(2, ONE)
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert re.search(f"The process that starts the tasks cannot be set up: .* {NO_MORE}", ended.output), (
            ended.output
        )
        ended = session(3, FORKS_TWO + ONE)
        assert "1 failed, 1 error" in ended.output, ended.output
        assert re.search("worker:[01] ended before it gave its result: exit code 71, in phase 'starting'", ended.output)
        assert re.search(f"No process for it: .* {NO_MORE}", ended.output), ended.output
        assert re.search("worker:0 ended before it gave its result: (killed by|exit code)", ended.output), ended.output
