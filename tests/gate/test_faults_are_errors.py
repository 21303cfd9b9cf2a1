"""A fault amid the timed region of a gate with a baseline: an error of that test, no verdict; the session goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gate.conftest import Gate, new_gate

SUITE = """
import pytest
from steady import steady
from timed_fault import breaks

@pytest.mark.tfperf(breaks, strategy="{strategy}", replicas=[2], tolerance=0.4, folder={folder!r})
def test_breaks(tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", replicas=[1], tolerance=0.4)
def test_goes_on(tfperf):
    tfperf.check()

def test_of_another_kind():
    pass
"""
STRATEGY = "multi_worker_mirrored"


@pytest.fixture(scope="module")
def with_baseline(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    gate = new_gate(tmp_path_factory, "faults")
    done = gate.run("--tfperf-force-save", "--tfperf-rounds=3", suite=_suite(gate))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(gate.baseline_files) == 2
    return gate


def _suite(gate: Gate) -> str:
    return SUITE.format(strategy=STRATEGY, folder=str(gate.folder))


def _contents(gate: Gate) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in gate.baseline_files}


@pytest.mark.parametrize(
    ("number", "deadlines", "said"),
    [
        ("SIGKILL", (600,), r"worker:1 ended before it gave its result: killed by SIGKILL, in phase 'timed windows'\."),
        # At the deadline, or earlier, when TensorFlow in the other task gives it up.
        ("SIGSTOP", (15, 60, 240), r"worker:1 \(in phase 'timed windows', stopped by a signal\) no"),
    ],
)
def test_a_fault_amid_the_timed_region_is_an_error_and_no_verdict(
    with_baseline: Gate, number: str, deadlines: tuple[int, ...], said: str
) -> None:
    gate, before = with_baseline, _contents(with_baseline)
    (gate.folder / "fault").write_text(number)
    for seconds in deadlines:  # the first that is long enough for the fault to come up
        (gate.folder / "rounds").write_text("")
        done = gate.run(f"--tfperf-timeout={seconds}", "--tfperf-force-save", "--tfperf-rounds=3", suite=_suite(gate))
        if (gate.folder / "rounds").read_text() == "xx":
            break
    assert done.returncode == 1, done.stdout
    assert {"2 passed", "1 error"} <= set(re.findall(r"\d+ (?:passed|failed|error)", done.stdout.splitlines()[-1]))
    assert " failed" not in done.stdout.splitlines()[-1], done.stdout
    assert re.search(said, done.stdout), done.stdout
    assert "amid the timed region" in done.stdout
    assert "worker:0: " in done.stdout
    assert "REGRESSED" not in done.stdout
    assert "was not used at all" not in done.stdout, "a warning that says nothing of the fault"
    after = _contents(gate)
    assert set(after) == set(before)
    (broken,) = [path for path in after if "breaks" in path.name]
    assert after[broken] == before[broken], "a run that failed is not saved"
