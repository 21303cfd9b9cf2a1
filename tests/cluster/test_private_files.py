"""What a session keeps on the disk is for its user alone, whatever the umask; sockets have no name to open."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher
from pytest_tfperf.cluster.compile_cache import CompileCache
from tests.cluster.processes import workers


def test_folders_and_logs_are_private_whatever_the_umask(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    before = os.umask(0)
    try:
        with (
            ClusterLauncher(launcher="spawn", preload=(), run_dir=tmp_path) as launcher,
            launcher.start(workers(1)) as one,
        ):

            def speak(task: Any) -> None:
                print("private")

            one.run(speak, timeout=60)
            assert launcher.run_dir is not None
            CompileCache(launcher.run_dir / "cache")
            paths = [launcher.run_dir, *launcher.run_dir.rglob("*")]
            modes = {path: path.lstat().st_mode for path in paths}
    finally:
        os.umask(before)
    assert sum(path.suffix == ".log" for path in paths) == 2
    assert len([path for path in paths if stat.S_ISDIR(modes[path])]) >= 5
    for path, mode in modes.items():
        assert stat.S_ISDIR(mode) or stat.S_ISREG(mode), f"{path} is no socket or pipe that others could open"
        assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), path


@pytest.mark.parametrize("how", ["launcher", "spawn_launcher"])
def test_temporary_files_of_tasks_are_private_and_go_with_their_cluster(
    how: str, request: pytest.FixtureRequest
) -> None:
    """Nobody in a task removes them: it ends at once."""

    def leave(task: Any) -> str:
        import tempfile

        tempfile.mkstemp()
        return tempfile.gettempdir()

    with request.getfixturevalue(how).start(workers(2)) as cluster:
        (folder,) = {Path(path) for path in cluster.run(leave, timeout=60).values()}
        assert len(list(folder.iterdir())) == 2
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_another_user_cannot_get_in(tmp_path: Path) -> None:
    """Really another one where the tests run as root; else the modes above have to do."""
    with ClusterLauncher(launcher="spawn", preload=(), run_dir=Path("/tmp")) as launcher, launcher.start(workers(1)):
        folder = launcher.run_dir
        assert folder is not None
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                    list(folder.iterdir())
                else:
                    raise PermissionError
            except PermissionError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
