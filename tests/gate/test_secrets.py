"""A real session with secrets all around it: nothing that it writes, anywhere, holds one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.conftest import PYTEST, SUITE, UNWATCHED, Gate
from tests.gate.environ import environ

SECRET = "hunter2" + "s3cr3t"
FAILING = """

@pytest.mark.tfperf("smallconv", strategy="multi_worker_mirrored", replicas=[2], variant="kill", batch_size=8)
def test_dies(tfperf):
    raise RuntimeError("a test's own failure")
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--api-token")
"""
NAMES = (
    *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD", "WANDB_API_KEY", "HF_TOKEN", "SSH_PRIVATE_KEY"),
    *("TF_TOKEN_app_terraform_io", "TF_VAR_password", "TF_GRPC_TOKEN", "TF_GRPC_DEFAULT_TOKEN", "TF_NUM_PASSWORD"),
    *("NCCL_AUTH_TOKEN", "NCCL_SIGNING_KEY", "TF_XLA_SECRET", "TF_GPU_CREDENTIAL", "KERAS_TOKEN"),
)
ENVIRON = dict.fromkeys(NAMES, SECRET) | {
    "DATABASE_URL": f"postgresql://me:{SECRET}@host/db",
    "http_proxy": f"http://me:{SECRET}@127.0.0.1:9",
    "https_proxy": f"http://me:{SECRET}@127.0.0.1:9",
    "NCCL_CONF_FILE": f"https://me:{SECRET}@host/nccl.conf",
    "TF_NUM_INTEROP_THREADS": "2",
}


def test_no_secret_is_written_anywhere(fresh: Gate, tmp_path: Path) -> None:
    folder = fresh.folder
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_suite.py").write_text(SUITE.format(extra="") + FAILING)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", f"https://me:{SECRET}@host/repository.git")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "suite")
    out, temporary = folder / "out", tmp_path / "tmp"
    temporary.mkdir()
    summary = folder / "out" / "summary.md"
    summary.parent.mkdir()
    arguments = [
        *("-p", UNWATCHED, "--tfperf-rounds=3", "--tfperf-force-save", "--tfperf-keep-logs"),
        *(f"--tfperf-json={out}/report.json", f"--tfperf-html={out}/report.html", f"--tfperf-markdown={out}/report.md"),
        *(f"--tfperf-tensorboard={out}/events", f"--tfperf-history={out}/history.db", f"--junitxml={out}/junit.xml"),
        *("--api-token", SECRET, "-rA", "-vv", "--rootdir", str(folder)),
    ]
    done = subprocess.run(
        [*PYTEST, *arguments],
        cwd=folder,
        env=environ(**ENVIRON, TMPDIR=str(temporary), GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary)),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    output = done.stdout + done.stderr
    assert "1 passed" in output, output
    assert "a test's own failure" in output
    assert SECRET not in output
    files = [
        path for top in (folder, temporary) for path in top.rglob("*") if path.is_file() and ".git" not in path.parts
    ]
    names = {path.name for path in files}
    assert names >= {"report.json", "report.html", "report.md", "history.db", "junit.xml", "summary.md"}
    assert any(path.suffix == ".yaml" for path in files), "a baseline was saved"
    assert any(path.suffix == ".log" for path in files), "logs were kept"
    assert any("tfevents" in path.name for path in files)
    written = (out / "report.json").read_text()
    assert "TF_NUM_INTEROP_THREADS" in written, "variables that change speed are there"
    assert '"--api-token","***"' in written, "and arguments"
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("name", ["NCCL_AUTH_TOKEN", "TF_NUM_INTEROP_THREADS"])
def test_the_environment_command_shows_none(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_tfperf", "env"],
        cwd=tmp_path, env=environ(**{name: SECRET}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # That the second is shown proves that the first could be.
    assert (SECRET in done.stdout + done.stderr) == (name == "TF_NUM_INTEROP_THREADS")
