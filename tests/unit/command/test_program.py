"""The command as a program: its exit codes, its help, and what it does when it is interrupted."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pytest_tfperf
from pytest_tfperf.command import program, show
from pytest_tfperf.errors import MeasurementError
from tests.unit.command.made import measured, session, stored, tfperf, written

Capture = pytest.CaptureFixture[str]

COMMAND = [sys.executable, "-m", "pytest_tfperf"]
ENVIRON = {**os.environ, "PYTHONPATH": str(Path(pytest_tfperf.__file__).parents[1])}


def started(*arguments: object, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=ENVIRON, capture_output=True, text=True, check=False, **options)


def test_the_module_is_the_command(tmp_path: Path) -> None:
    a = written(tmp_path / "a.json", measured(seed=1))
    b = written(tmp_path / "b.json", measured(speeds={"T(2)": 0.9}, seed=2))
    done = started("compare", a, b, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "1 regressed" in done.stdout
    assert "\x1b" not in done.stdout
    done = started("compare", a, "none", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "tfperf: error: none: there is no such file\n"


def test_the_installed_program_is_this_function() -> None:
    settings = (Path(__file__).parents[3] / "setup.cfg").read_text()
    assert "\n    tfperf = pytest_tfperf.command:main\n" in settings
    assert importlib.import_module("pytest_tfperf.command").main is program.main


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream(tmp_path: Path, closed: int) -> None:
    """Nobody is told, and what is for the other stream does not land there."""
    stored(tmp_path)
    line = f"exec {closed}>&-; exec {sys.executable} -m pytest_tfperf show --json baselines nowhere"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    if closed == 2:
        assert len(json.loads(done.stdout)) > 0
    else:
        assert done.stderr == "tfperf: nowhere: there is no such file or folder\n"


def test_an_argument_that_cannot_be_looked_at(tmp_path: Path) -> None:
    name = "x" * 300
    done = started("show", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, f"tfperf: error: {name}: cannot be read: File name too long\n")


def test_help_says_what_exit_codes_mean(capsys: Capture) -> None:
    ran = tfperf(capsys, "--help")
    assert ran.code == 0
    for line in ("1  a regression was found", "2  the command line is wrong", "3  something could not be read"):
        assert line in ran.out
    for name in ("show", "compare", "report", "history", "env", "prune"):
        assert f"    {name} " in ran.out


@pytest.mark.parametrize("name", ["show", "compare", "report", "env", "prune"])
def test_every_subcommand_has_help(capsys: Capture, name: str) -> None:
    ran = tfperf(capsys, name, "--help")
    assert ran.code == 0
    assert f"usage: tfperf {name}" in ran.out


def test_version(capsys: Capture) -> None:
    assert tfperf(capsys, "--version").out == f"pytest-tfperf {pytest_tfperf.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["compare"], ["compare", "a"], ["show", "--no-such"], ["report"]])
def test_a_wrong_command_line(capsys: Capture, arguments: list[str]) -> None:
    ran = tfperf(capsys, *arguments)
    assert ran.code == 2
    assert "usage: tfperf" in ran.err


def test_a_missing_extra_names_the_command_that_brings_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without(name: str) -> Any:
        if name.endswith(".history"):
            raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")
        return real(name)

    monkeypatch.setattr(importlib, "import_module", without)
    for arguments in (["history"], ["history", "--db", "x", "mlp"]):
        ran = tfperf(capsys, *arguments)
        assert ran.code == 2
        assert "No module named 'sqlalchemy'" in ran.err
        assert "pip install 'pytest-tfperf[history]'" in ran.err
    assert tfperf(capsys, "show", "--help").code == 0


def test_an_error_is_one_line_and_a_code(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(given: object) -> int:
        raise MeasurementError("nothing can be measured here")

    monkeypatch.setattr(show, "run", fail)
    ran = tfperf(capsys, "show")
    assert (ran.code, ran.err) == (3, "tfperf: error: nothing can be measured here\n")


def test_ctrl_c_ends_quietly(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(given: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "run", interrupted)
    ran = tfperf(capsys, "show")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_a_pipe_that_is_closed_ends_quietly(tmp_path: Path) -> None:
    stored(tmp_path, 60)  # more than a pipe holds
    reader, writer = os.pipe()
    with subprocess.Popen(
        [*COMMAND, "show", "--json"], cwd=tmp_path, env=ENVIRON, stdout=writer, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        os.read(reader, 10)
        os.close(reader)
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has this device")
def test_a_disk_that_is_full_is_said(tmp_path: Path) -> None:
    stored(tmp_path, 4)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "show"], cwd=tmp_path, env=ENVIRON, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr == "tfperf: error: the output cannot be written: No space left on device\n"


def test_text_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    report = session(4)
    case = replace(report.cases[0], outcome="error", text="it said \u2603", judgement=None)
    written(tmp_path / "a.json", replace(report, cases=(case,)))
    environ = {**ENVIRON, "PYTHONIOENCODING": "latin-1"}
    command = [*COMMAND, "report", str(tmp_path / "a.json")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert "it said \\u2603" in done.stdout


@pytest.mark.parametrize(("extra", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_only_on_a_terminal(tmp_path: Path, extra: dict[str, str], coloured: bool) -> None:
    report = written(tmp_path / "a.json", measured())
    environ = {key: value for key, value in ENVIRON.items() if key not in ("NO_COLOR", "TERM")} | extra
    terminal, theirs = os.openpty()
    with subprocess.Popen([*COMMAND, "report", str(report)], env=environ, stdout=theirs) as process:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # Linux's way to say that the other end is closed
            while chunk := os.read(terminal, 100_000):
                seen += chunk
    os.close(terminal)
    assert process.returncode == 0
    assert b"4 CPU ranks" in seen
    assert (b"\x1b[32m" in seen) is coloured


@pytest.mark.parametrize("arguments", ["--help", "show --help", "prune --help", "report --help"])
def test_a_quick_answer_needs_nothing_heavy(tmp_path: Path, arguments: str) -> None:
    code = (
        "import sys\nfrom pytest_tfperf.command import main\n"
        f"assert main({arguments.split()!r}) == 0\n"
        "print('LOADED', *[name for name in ('pytest', 'tensorflow', 'numpy', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRON, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED"


def test_nothing_of_it_imports_pytest_or_tensorflow(tmp_path: Path) -> None:
    a = written(tmp_path / "a.json", measured(seed=1))
    b = written(tmp_path / "b.json", measured(seed=2))
    root = stored(tmp_path)
    runs = [["compare", str(a), str(b)], ["report", str(a)], ["show", str(root)], ["env"], ["prune", "--older-than=1"]]
    code = (
        "import sys\nfrom pytest_tfperf.command import main\n"
        f"for run in {runs!r}:\n    assert main(run) == 0, run\n"
        "print('LOADED', *[name for name in ('pytest', '_pytest', 'tensorflow') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "LOADED"
