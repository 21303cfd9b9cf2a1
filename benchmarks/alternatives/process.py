"""Runs a contestant in a fresh process, for a bounded time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.alternatives.contestant import Entry, Outcome

_LOG_TAIL = 300


def run_in_process(entry: Entry, timeout: float) -> Outcome:
    """What came of the entry; one that takes longer than `timeout` seconds is killed with all that it started.

    So is one whose asker ends, however that comes.
    """
    with tempfile.TemporaryDirectory() as folder:
        task, log = Path(folder, "task.json"), Path(folder, "log")
        task.write_text(json.dumps(asdict(entry)))
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")}
        if entry.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = "-1"
        command = [sys.executable, "-m", "benchmarks.alternatives.contestant", str(task), str(os.getpid())]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
            )
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                return Outcome(problem=f"not done after {timeout:.0f} s, killed")
            finally:
                _kill(process)
        answer = json.loads(task.read_text())
        if "problem" in answer:
            return Outcome(**answer)
        end = " ".join(log.read_text(errors="replace").split())[-_LOG_TAIL:]
        return Outcome(problem=f"its process ended with {code} and no result: {end}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
