"""Sessions in places where something cannot be written, opened or reached: whole but for their runs."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gate.environ import environ
from tests.plugin.canned_session import QUICK, suite

TOP = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "checkout" / "test_suite.py").write_text(suite("unchanged"))
    return tmp_path / "checkout"


def session(
    folder: Path, *arguments: str, limit: Callable[[], None] | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """A pytest of its own, whose clusters are made up."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugin.canned_session", *QUICK, "--rootdir", str(folder)]
    return subprocess.run(
        [*command, *arguments, str(folder)],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env=environ(TOP, **{"CUDA_VISIBLE_DEVICES": "", **more}), preexec_fn=limit,
    )  # fmt: skip


def test_a_changed_working_directory(folder: Path) -> None:
    """The suite changes it; baselines and reports are where they were asked for."""
    (folder / "conftest.py").write_text("import os\ndef pytest_runtest_setup():\n    os.chdir('/')\n")
    done = session(folder, "--tfperf-save", "--tfperf-json=out/report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "out" / "report.json").is_file()
    assert len(list(folder.glob("baselines/*/*.yaml"))) == 1


def test_proxies_in_the_environment(folder: Path) -> None:
    done = session(folder, http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9", grpc_proxy="http://x:1")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_few_descriptors(folder: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    done = session(folder, limit=limit)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_baselines_that_cannot_be_written(folder: Path) -> None:
    """Where a file is in the way not even root can write; the reports are written all the same."""
    (folder / "baselines").write_text("a file is in the way\n")
    done = session(folder, "--tfperf-save", "--tfperf-json=out/report.json")
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "baselines" in done.stdout + done.stderr
    assert (folder / "baselines").read_text() == "a file is in the way\n"
    assert (folder / "out" / "report.json").is_file()


def test_a_full_disk_loses_one_report_and_no_verdict(folder: Path) -> None:
    done = session(folder, "--tfperf-json=/dev/full", "--tfperf-markdown=report.md")
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "JSON report was not written: " in done.stdout
    assert "No space left on device" in done.stdout
    assert (folder / "report.md").is_file()


def test_no_folder_for_temporary_files(folder: Path) -> None:
    """A real session: it ends before it starts a process."""
    (folder / "conftest.py").write_text("import tempfile\ntempfile.tempdir = '/nowhere'\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *QUICK, "--rootdir", str(folder), str(folder)],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env=environ(TOP),
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert "No folder for logs can be made" in done.stdout + done.stderr
    assert "Set TMPDIR" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
