"""A suite of one small test, run by a real pytest on real clusters."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.gate.environ import environ

UNWATCHED = "unwatched"
"""A plugin in this folder."""

SUITE = """
import pytest
from steady import steady

@pytest.mark.tfperf(
    steady, strategy="multi_worker_mirrored", replicas=[2], tolerance=0.4, batch_size=8{extra}
)
def test_scales(tfperf):
    tfperf.check()
"""
PYTEST = (
    *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tfperf-window=0.1"),
    "--tfperf-wait=0",  # a test does not wait for what else goes on here
)
BOTH_SLOW = ', slowdown={2: 3.0, "reference": 3.0}'


@dataclass(frozen=True)
class Gate:
    """A folder with a suite and its baselines."""

    folder: Path
    watched: bool = False
    """Whether runs on a machine that is not quiet decide nothing, as they do for people. Not where a test is about a
    slowdown that no neighbour can hide or make: it would then need a machine that does nothing else."""

    def run(self, *args: str, extra: str = "", suite: str | None = None) -> subprocess.CompletedProcess[str]:
        (self.folder / "test_suite.py").write_text(SUITE.format(extra=extra) if suite is None else suite)
        return run_pytest(self.folder, args if self.watched else ("-p", UNWATCHED, *args))

    @property
    def baseline_files(self) -> list[Path]:
        return sorted((self.folder / "baselines").glob("*/*"))


def run_pytest(folder: Path, args: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [*PYTEST, "--rootdir", str(folder), *args]
    return subprocess.run(command, cwd=folder, env=environ(), capture_output=True, text=True, timeout=600, check=False)


def new_gate(tmp_path_factory: pytest.TempPathFactory, name: str) -> Gate:
    folder = tmp_path_factory.mktemp(name)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return Gate(folder)


def new_saved_gate(tmp_path_factory: pytest.TempPathFactory, name: str, extra: str = "") -> Gate:
    """A gate with a baseline of five rounds, which the first worker of pytest-xdist to ask for it saves for all."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"baselines-{name}"
    gate = new_gate(tmp_path_factory, name)
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            done = gate.run("--tfperf-force-save", "--tfperf-rounds=5", extra=extra)
            assert done.returncode == 0, done.stdout + done.stderr
            assert len(gate.baseline_files) == 1
            shutil.copytree(gate.folder / "baselines", shared)
    shutil.copytree(shared, gate.folder / "baselines", dirs_exist_ok=True)
    return gate


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """A gate whose baseline was saved from code without a slowdown."""
    return new_saved_gate(tmp_path_factory, "saved")


@pytest.fixture(scope="session")
def saved_slow(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """The same, saved with a slowdown of both arms; not to be written to."""
    return new_saved_gate(tmp_path_factory, "slow", extra=BOTH_SLOW)


@pytest.fixture
def slow(saved_slow: Gate, fresh: Gate) -> Gate:
    """A gate whose baseline was saved from code that was slower."""
    shutil.copytree(saved_slow.folder / "baselines", fresh.folder / "baselines")
    return fresh


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """A gate without any baseline."""
    return new_gate(tmp_path_factory, "fresh")


@pytest.fixture
def watched(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """A gate without any baseline, where the machine around the runs counts."""
    return replace(new_gate(tmp_path_factory, "watched"), watched=True)
