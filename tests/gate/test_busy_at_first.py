"""Another program uses all cores during a sweep's first round, and is gone in the others: those decide."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace

import pytest

from pytest_tfperf.baseline.reading import Reader
from tests.gate.busy_at_first import BUSY
from tests.gate.conftest import Gate, new_gate

pytestmark = pytest.mark.alone

SUITE = """
import pytest

@pytest.mark.tfperf("smallconv", strategy="single", replicas=[1], tolerance=0.4, batch_size=8{extra})
def test_alone(tfperf):
    tfperf.check()
"""
SPIN = """
import os, sys
os.sched_setaffinity(0, [int(sys.argv[1])])
while os.path.exists(sys.argv[2]):
    sum(range(10_000))
"""
LEFT_OUT = "Left out, with all of their rounds, as they were disturbed: T(1), round 1: other programs used"


def run(gate: Gate, *args: str, extra: str = "") -> subprocess.CompletedProcess[str]:
    file = gate.folder / BUSY
    with ExitStack() as stack:
        file.touch()
        stack.callback(file.unlink, missing_ok=True)
        for core in sorted(os.sched_getaffinity(0)):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", SPIN, str(core), str(file)]))
            stack.callback(process.kill)
        options = ("-p", "busy_at_first", "--tfperf-rounds=5", *args)
        done = gate.run(*options, suite=SUITE.format(extra=extra))
        assert not file.exists()
        return done


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """A gate whose baseline was saved beside that program."""
    gate = replace(new_gate(tmp_path_factory, "stored"), watched=True)
    done = run(gate, "--tfperf-save")
    assert done.returncode == 0, done.stdout + done.stderr
    assert LEFT_OUT in done.stdout
    return gate


def test_the_other_rounds_are_saved(stored: Gate) -> None:
    (file,) = stored.baseline_files
    assert len(Reader().anywhere(file).entries[1].latest.throughput) == 4


def test_a_loss_is_found_in_the_other_rounds(stored: Gate) -> None:
    done = run(stored, extra=', slowdown={"reference": 5.0}')
    assert done.returncode == 1, done.stdout
    assert "regressed (T(1) -" in done.stdout
    assert LEFT_OUT in done.stdout
    assert "rounds (1 left out) in " in done.stdout


def test_what_is_as_fast_is_not_blamed_for_it(stored: Gate) -> None:
    done = run(stored)
    assert done.returncode == 0, done.stdout
    assert LEFT_OUT in done.stdout
    assert "nothing is decided" not in done.stdout
