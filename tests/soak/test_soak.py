"""A short soak of real clusters: nothing is left after any of them, and a leak that is put in is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tools.soak.clusters import KINDS
from tools.soak.leaks import LEAKS, NEED_NAMESPACES

TOP = Path(__file__).parents[2]
KINDS_IN_SHORT = [name for name in KINDS if name not in ("ring", "ps_async")]


def soak(*args: str) -> tuple[int, dict[str, str], str]:
    """Exit code, the answer for each quantity, and all that it printed."""
    command = [sys.executable, "-m", "tools.soak", *args]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=600, check=False)
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    answers = {line[1].strip(): line[0].strip() for line in lines if line[0].strip() in ("flat", "grew", "undecided")}
    assert answers, done.stdout + done.stderr
    return done.returncode, answers, done.stdout + done.stderr


def test_clusters_of_every_kind_leave_nothing(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    code, answers, text = soak("clusters", "--count", "16", "--records", str(records), "--kinds", *KINDS_IN_SHORT)
    assert not [name for name, answer in answers.items() if answer == "grew"], text
    assert code == 2, "so few clusters say nothing of memory and time"
    counts = {name for name in answers if " of " not in name or name.startswith(("descriptors", "threads"))}
    assert {answers[name] for name in counts if not name.endswith("a cluster")} == {"flat"}, text
    assert len(counts) >= 10, text
    kinds = [json.loads(line)["kind"] for line in records.read_text().splitlines()]
    assert kinds == KINDS_IN_SHORT * 2


def test_every_leak_is_named() -> None:
    named = {
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
    assert set(named) == set(LEAKS) - {"seconds"}
    alone = "not counted" not in soak("clusters", "--count", "1", "--kinds", "plain")[2]
    chosen = [name for name in named if alone or name not in NEED_NAMESPACES]
    leaks = [argument for name in chosen for argument in ("--leak", name)]
    code, answers, text = soak("clusters", "--count", "24", "--kinds", "plain", *leaks)
    assert code == 1, text
    for name in chosen:
        assert answers[named[name]] == "grew", text
    assert answers["threads of supervisor"] == answers["network namespaces"] == "flat", text
    assert answers["files in TMPDIR after the session"] == "grew", text
