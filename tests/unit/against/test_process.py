"""Another pytest that dies, hangs, or speaks another language is one clear error, and leaves no process."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_tfperf.against.process import OtherPytest
from pytest_tfperf.errors import OtherSideError
from tests.cluster.processes import is_gone, poll

SPEAK = """
import json, os, signal, socket, sys
line = socket.socket(fileno=int(sys.argv[1])).makefile("rw")
request = line.readline()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], OtherPytest]]:
    started: list[OtherPytest] = []

    def one(script: str, python: str = sys.executable) -> OtherPytest:
        line = socket.socketpair()
        other = OtherPytest(
            "main (abc1234)",
            [python, "-c", script, str(line[1].fileno())],
            line,
            log=tmp_path / "output.txt",
            cwd=tmp_path,
            env=dict(os.environ),
        )
        started.append(other)
        return other

    yield one
    for other in started:
        other.close()
        with pytest.raises(ProcessLookupError):
            os.kill(other.pid, 0)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('last words'); raise SystemExit(3)", r"(?s)its pytest has ended \(exit code 3\)\..*last words"),
        (f"{SPEAK}os.kill(os.getpid(), signal.SIGKILL)", r"its pytest has ended \(killed by SIGKILL\)"),
        (f"{SPEAK}line.write('nonsense\\n'); line.flush(); line.readline()", "does not fit this one: not JSON"),
        (
            f'{SPEAK}line.write(\'{{"error": "no GPU"}}\\n\'); line.flush(); line.readline()',
            r"main \(abc1234\): no GPU",
        ),
        (
            "import sys; print('pytest: error: unrecognized arguments: --tfperf-serve=7'); raise SystemExit(4)",
            "does not know --tfperf-serve.*: it is too old, or not installed",
        ),
    ],
)
def test_no_answer(start: Callable[[str], OtherPytest], script: str, message: str) -> None:
    with pytest.raises(OtherSideError, match=message):
        start(script).ask({"do": "hello"}, 60)


def test_one_that_does_not_answer_in_time(start: Callable[[str], OtherPytest]) -> None:
    other = start(f"{SPEAK}print('busy', flush=True); line.readline()")
    with pytest.raises(OtherSideError, match=r"did not answer 'hello' within 0.1 s"):
        other.ask({"do": "hello"}, 0.1)
    with pytest.raises(OtherSideError, match="its pytest has ended"):  # and not the late answer
        other.ask({"do": "measure"}, 60)


def test_one_that_ignores_the_end_is_killed(
    start: Callable[[str], OtherPytest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tfperf.against.process._GRACE", 0.2)
    other = start(
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"{SPEAK}line.write('{{}}\\n'); line.flush()\nwhile True: time.sleep(1)"
    )
    assert other.ask({"do": "hello"}, 60) == {}
    other.close()
    with pytest.raises(ProcessLookupError):
        os.kill(other.pid, 0)


def test_an_interpreter_that_is_none(tmp_path: Path, start: Callable[..., OtherPytest]) -> None:
    with pytest.raises(OtherSideError, match="nosuch cannot be started: No such file"):
        start("", python=str(tmp_path / "nosuch"))


def test_what_one_that_has_died_had_started_is_ended(tmp_path: Path, start: Callable[[str], OtherPytest]) -> None:
    script = "import subprocess; print(subprocess.Popen(['sleep', '3600']).pid, flush=True); raise SystemExit(3)"
    with pytest.raises(OtherSideError, match=r"its pytest has ended \(exit code 3\)"):
        start(script).ask({"do": "hello"}, 60)
    pid = int((tmp_path / "output.txt").read_text())
    poll(lambda: is_gone(pid), "what it had started is gone")
