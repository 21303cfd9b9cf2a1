"""What AutoGraph writes is the cluster's: no file of it in the folder for temporary files, however a task ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pytest_tfperf.cluster import ClusterLauncher, LauncherKind
from pytest_tfperf.errors import TaskDiedError
from tests.cluster.processes import workers


def convert(task: Any) -> list[str]:
    """Files of the code that was generated, and a file of the user's in the folder for temporary files."""
    import tensorflow as tf

    @tf.function  # type: ignore[untyped-decorator, unused-ignore]
    def summed(count):  # type: ignore[no-untyped-def]
        total = tf.constant(0)
        for index in tf.range(count):
            total += index
        return total

    assert summed(tf.constant(4)) == 6
    Path(tempfile.gettempdir(), f"of-the-user-{task.id.index}").touch()
    return [str(module.__file__) for name, module in sys.modules.items() if name.startswith("__autograph_generated")]


@pytest.mark.parametrize("how", ["zygote", "spawn"])
def test_generated_code_goes_with_the_cluster(how: LauncherKind, tmp_path: Path) -> None:
    temporary, logs = tmp_path / "temporary", tmp_path / "logs"
    for folder in (temporary, logs):
        folder.mkdir()
    with ClusterLauncher(launcher=how, run_dir=logs, keep_logs=True) as own:
        with own.start(workers(2), env={"TMPDIR": str(temporary)}, start_timeout=300) as cluster:
            files = [Path(file) for some in cluster.run(convert, timeout=300).values() for file in some]
            assert len(files) >= 2
            assert own.run_dir is not None
            assert all(file.is_file() and own.run_dir in file.parents for file in files)
            bytecode = [one for one in own.run_dir.rglob("*") if one.suffix == ".pyc"]
            assert bytecode or sys.dont_write_bytecode, "it is private too"
        assert not any(file.parent.exists() for file in files), "logs are kept, and not this"
        assert len(list(own.run_dir.glob("cluster-1/*.log"))) == 2
    assert sorted(file.name for file in temporary.iterdir()) == ["of-the-user-0", "of-the-user-1"]


def test_of_a_killed_task_too(launcher: ClusterLauncher, tmp_path: Path) -> None:
    def die(task: Any) -> None:
        convert(task)
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(TaskDiedError):
        launcher.start(workers(1), env={"TMPDIR": str(tmp_path)}).run(die, timeout=300)
    assert [file.name for file in tmp_path.iterdir()] == ["of-the-user-0"]
    assert launcher.run_dir is not None
    assert not list(launcher.run_dir.glob("cluster-*"))


def test_of_in_process_clusters_too(tmp_path: Path) -> None:
    script = """
        import os, pathlib, sys
        from pytest_tfperf.cluster import placements, start_in_process
        from pytest_tfperf.records.task import Layout
        from tests.cluster.test_generated_code import convert

        for _ in range(2):
            (files,) = start_in_process(placements(Layout(workers=1))).run(convert, timeout=300).values()
        assert files and all(pathlib.Path(file).parent.parent == pathlib.Path(os.environ["TMPDIR"]) for file in files)
        if os.fork() == 0:
            sys.exit()
        os.wait()
        assert pathlib.Path(files[0]).parent.exists(), "it is not the child's to remove"
    """
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=environ, check=True, timeout=300)
    assert [file.name for file in tmp_path.iterdir()] == ["of-the-user-0"]
