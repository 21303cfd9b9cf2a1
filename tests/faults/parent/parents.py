"""Real pytest sessions that something happens to, and a check that nothing is left of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from pytest_tfperf.baseline.reading import Reader
from tests.cluster.processes import poll
from tests.gate.environ import environ
from tests.unit.against.repository import new_repository

HERE = Path(__file__).parent
TOP = HERE.parents[2]
PLUGINS = ("unwatched", "points")
"""Of tests/gate and of this folder."""
QUICK = ("-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:hypothesispytest")
"""Without plugins that take seconds to load and play no part."""

SUITE = """
import pytest
from steady import steady
from struck import struck

@pytest.mark.tfperf(steady, strategy="single", variant="before")
def test_before(tfperf):
    tfperf.check()

@pytest.mark.tfperf(struck, strategy="multi_worker_mirrored", replicas=[2])
def test_struck(tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", variant="after")
def test_after(tfperf):
    tfperf.check()
"""
ONE = """
import pytest
from struck import struck

@pytest.mark.tfperf(struck, strategy="single")
def test_struck(tfperf):
    tfperf.check()
"""


@dataclass(frozen=True)
class Ended:
    """What a session said."""

    code: int
    output: str

    def is_no_verdict(self) -> bool:
        """Whether nothing was called a regression, and nothing of pytest's or ours fell over."""
        words = ("regressed", "REGRESSED", "INTERNALERROR", "Traceback (most recent call last)")
        return not any(word in self.output for word in words)


class Session:
    """A pytest that runs."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self._output = output

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def end(self, seconds: float = 300) -> Ended:
        """Wait for its end."""
        try:
            return Ended(self.process.wait(seconds), self.output)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it goes on after {seconds:g} s:\n{self.output}") from None


@dataclass(frozen=True)
class Parent:
    """A folder with a suite, and one for the temporary files of the sessions that run it."""

    folder: Path
    temporary: Path
    paths: list[str] = field(default_factory=list)
    """More folders of modules."""

    @property
    def struck(self) -> Path:
        """There once a task has struck."""
        return self.folder / "struck"

    def begin(
        self,
        *arguments: str,
        suite: str | None = SUITE,
        strike: str = "",
        points: str = "",
        wrapper: Sequence[str] = (),
        **more: str,
    ) -> Session:
        """Start pytest. `strike` is for struck.py, `points` for points.py; `wrapper` is put before its command."""
        if suite is not None:
            (self.folder / "test_suite.py").write_text(suite)
        self.struck.unlink(missing_ok=True)
        plugins = [part for name in PLUGINS for part in ("-p", name)]
        options = ("--tfperf-window=0.1", "--tfperf-wait=0", "--tfperf-rounds=1", f"--rootdir={self.folder}")
        output = self.folder / "output.txt"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*wrapper, sys.executable, "-m", "pytest", *QUICK, *plugins, *options, *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                preexec_fn=_heed_signals,
                env=environ(
                    *self.paths,
                    TOP,
                    HERE,
                    TMPDIR=str(self.temporary),
                    TFPERF_STRIKE=strike,
                    TFPERF_STRUCK=str(self.struck),
                    TFPERF_POINTS=points,
                    **more,
                ),
            )
        return Session(process, output)

    def run(self, *arguments: str, **how: Any) -> Ended:
        return self.begin(*arguments, **how).end()

    def processes(self) -> list[str]:
        """What was started with the folder for temporary files in its environment."""
        return [f"{process.pid} {process.info['status']}" for process in _with(self.temporary)]

    def report(self, name: str = "report.json") -> dict[str, Any]:
        """Verdict, or None, of each test in the JSON report."""
        cases = json.loads((self.folder / name).read_text())["cases"]
        return {
            case["id"].partition("::")[2].partition("[")[0]: case["judgement"] and case["judgement"]["verdict"]
            for case in cases
        }

    def runs(self, name: str = "report.json") -> dict[str, dict[str, int]]:
        """How many runs each arm of each sweep has in the JSON report."""
        sweeps = json.loads((self.folder / name).read_text())["sweeps"]
        return {
            sweep["test"].partition("::")[2]: {arm["label"]: len(arm["runs"]) for arm in sweep["arms"]}
            for sweep in sweeps
        }

    def baselines(self) -> list[str]:
        """The variants that have a baseline; each file must be whole, and there must be no other."""
        files = [path for path in self.folder.glob("baselines/**/*") if path.is_file()]
        for path in files:
            Reader().anywhere(path)
        assert all(path.suffix == ".yaml" for path in files), files
        return sorted(path.stem.rpartition("-")[2] for path in files)


def _heed_signals() -> None:
    """What nohup, or a shell's background, has this process ignore, the session would ignore too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def parent(tmp_path: Path, *, worktrees: int = 0) -> Iterator[Parent]:
    """A place for sessions, and a check at the end that they left nothing: no process, no file, no half a baseline.

    `worktrees`: how many worktrees' folders may be left.
    """
    one = Parent(tmp_path / "suite", tmp_path / "temporary")
    one.folder.mkdir()
    one.temporary.mkdir()
    (one.folder / "pytest.ini").write_text("[pytest]\n")
    try:
        yield one
        nothing_is_left(one, worktrees=worktrees)
    finally:
        for process in _with(one.temporary):  # of a test that failed
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _with(temporary: Path) -> list[psutil.Process]:
    """The processes whose folder for temporary files is this one or in it."""
    found = []
    for process in psutil.process_iter(["environ", "status"]):
        folder = (process.info["environ"] or {}).get("TMPDIR", "")
        if folder == str(temporary) or folder.startswith(f"{temporary}/"):
            found.append(process)
    return found


def nothing_is_left(one: Parent, *, worktrees: int = 0) -> None:
    def left() -> list[str]:
        return sorted(path.name for path in one.temporary.iterdir())

    poll(lambda: not one.processes(), lambda: f"no process left: {one.processes()}")
    poll(lambda: len(left()) == worktrees, lambda: f"nothing but {worktrees} worktrees left: {left()}")
    assert len(list(one.temporary.glob("pytest-tfperf-against-*"))) == worktrees
    one.baselines()


def repository(one: Parent) -> Path:
    """Its folder as a git repository."""
    return new_repository(one.folder, {"pytest.ini": "[pytest]\n", ".gitignore": "*.txt\nstruck*\nreport*\n"})


def needs(command: str) -> None:
    """Skip the test where a command, for instance of mounting something, is not allowed here."""
    tried = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"not allowed here: {command}: {tried.stderr.strip()}")
