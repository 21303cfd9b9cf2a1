"""Contestants in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from benchmarks.alternatives.__main__ import main
from benchmarks.alternatives.contestant import Entry
from benchmarks.alternatives.contests import CONTESTS, params_of
from benchmarks.alternatives.process import run_in_process

SHORT = ("--rounds", "1", "--warmup", "0.01", "--window", "0.01", "--windows", "1")


def test_one_that_takes_too_long_is_killed() -> None:
    params = params_of(CONTESTS["gpt2"], tiny=True, changed={})
    entry = Entry("ours", "gpt2", params, "cpu", 1.0, 1e6, 1)
    outcome = run_in_process(entry, timeout=0.2)
    assert outcome.problem == "not done after 0 s, killed"
    assert not any("contestant" in " ".join(child.cmdline()) for child in psutil.Process().children(recursive=True))


def test_ours_and_another_on_a_cpu(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    contest = ("--tiny", "--workloads", "gpt2", "--contestants", "keras_hub loop,ours packed", "--set", "xla=False")
    assert main([*contest, *SHORT, "--json", str(file)]) == 0
    found = json.loads(file.read_text())["gpt2"]
    (ours,), (packed,), (other,) = (found["contestants"][name] for name in ("ours", "ours packed", "keras_hub loop"))
    assert packed["loss"] == pytest.approx(ours["loss"], rel=0.2)
    assert packed["parameters"] == ours["parameters"]
    assert ours["examples_per_second"] > 0
    assert ours["parameters"] == 100 * 32 + 16 * 32 + (12 * 32 * 32 + 13 * 32) + 2 * 32
    # KerasHub is no part of the development tools: where it is not installed the table says so.
    assert other["parameters"] == ours["parameters"] or other["problem"] == "not installed: no module 'keras_hub'"
    text = capfd.readouterr().out
    assert "keras_hub loop" in text.split("contestant", 1)[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_contest_that_is_ended_leaves_nobody_on_the_device(number: int) -> None:
    command = [sys.executable, "-m", "benchmarks.alternatives", "--tiny", "--workloads", "gpt2", "--warmup", "600"]
    with psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as contest:
        while not (contestants := contest.children(recursive=True)):
            assert contest.poll() is None
        contest.send_signal(number)
        assert contest.wait(60) == -number
        gone, alive = psutil.wait_procs(contestants, 60)
        assert len(gone) >= 1
        assert not alive
