"""A short soak of real clusters: nothing is left after any of them, and a leak that is put in is named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.faults.machine.users import as_user
from tools.soak import census
from tools.soak.kinds import KINDS
from tools.soak.leaks import LEAKS, NEED_NAMESPACES

TOP = Path(__file__).parents[2]
SHORT = [name for name in KINDS if name not in ("ring", "ps_async")]
ANSWER = re.compile(r"^(flat|grew|undecided) +(\S.*?)  ", re.MULTILINE)
NAMED = {
    "descriptor": "descriptors of pytest",
    "thread": "threads of pytest",
    "memory": "RSS of pytest",
    "objects": "objects of pytest",
    "file": "files in TMPDIR",
    "process": "processes",
    "port": "listening ports",
    "shared_memory": "entries of /dev/shm",
    "semaphore": "System V semaphores",
}
"""What grows by each leak."""


def soak(*args: str) -> tuple[int, dict[str, str], str]:
    """Exit code, the answer for each quantity, and all that it printed."""
    command = [sys.executable, "-m", "tools.soak", *args]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=600, check=False)
    answers = {name: answer for answer, name in ANSWER.findall(done.stdout)}
    return done.returncode, answers, done.stdout + done.stderr


def test_it_moves_into_its_namespaces_before_anything_starts_threads() -> None:
    """As NumPy does: a process that has any cannot move, but for root's."""
    program = "import os, sys, tools.soak.__main__; print('numpy' in sys.modules, len(os.listdir('/proc/self/task')))"
    done = subprocess.run([sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, check=True)
    assert done.stdout == "False 1\n"


def test_a_process_with_threads_stays_where_it_is() -> None:
    """Where root is not asked: the soak then goes on without what needs namespaces, and says so."""

    def moved() -> bool:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        return census.alone()

    assert as_user(moved) is False


def test_a_judge_without_records_says_what_it_needs() -> None:
    code, _, text = soak("judge")
    assert code == 2
    assert text.endswith("error: judge needs --records\n")


def test_clusters_of_every_kind_leave_nothing(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    code, answers, text = soak("clusters", "--count", "16", "--records", str(records), "--kinds", *SHORT)
    assert code == 2, text
    undecided = {name for name, answer in answers.items() if answer == "undecided"}
    assert not any(name.startswith(("descriptors", "threads", "processes", "files", "network")) for name in undecided)
    assert len(answers.keys() - undecided) >= 10, "so few clusters say nothing of memory and time, and all of the rest"
    assert set(answers.values()) == {"flat", "undecided"}, text
    assert [json.loads(line)["kind"] for line in records.read_text().splitlines()] == SHORT * 2
    if reason := re.search(r"^Links are unavailable: (.*)$", text, re.MULTILINE):
        pytest.skip(f"of all kinds but links: {reason[1]}")


def test_every_leak_is_named() -> None:
    assert set(NAMED) == set(LEAKS) - {"seconds"}, "the judge's own tests are about time"

    def with_leaks(names: list[str]) -> tuple[int, dict[str, str], str]:
        return soak("clusters", "--count", "14", "--kinds", "plain", *(f"--leak={name}" for name in names))

    leaks = list(NAMED)
    code, answers, text = with_leaks(leaks)
    if "only in namespaces" in text:
        leaks = [name for name in leaks if name not in NEED_NAMESPACES]
        code, answers, text = with_leaks(leaks)
    assert code == 1, text
    assert {name for name in leaks if answers[NAMED[name]] != "grew"} == set(), text
    assert answers["threads of supervisor"] == answers["network namespaces"] == "flat", text
    assert answers["files in TMPDIR after the session"] == "grew", text


def test_sessions_leave_what_they_should_and_a_leak_is_named() -> None:
    code, answers, text = soak("sessions", "--count", "2", "--leak=file")
    assert code == 1, text
    assert {name for name, answer in answers.items() if answer == "grew"} == {"files in TMPDIR"}, text
    assert re.search(r"files in TMPDIR +1 -> 2 ", text), "that file alone, after each session"
    assert re.search(r"rows of tfperf_sessions +1 -> 2 ", text)
    assert re.search(r"processes left +0 -> 0 ", text)
