"""A run in which something else had the machine: it is left out, said to be, and decides nothing."""

from __future__ import annotations

import re

import pytest

from tests.gate.conftest import new_gate

HELD_UP = '''
import json
import os
import time
from pathlib import Path

import pytest
from pytest_tfperf import workload
from steady import SECONDS, stepping

MADE = Path(__file__).with_name("runs-of-two")
seconds = None


def of_this_run():
    """Ten times as long in the third run of two ranks; a process may build its model more than once."""
    global seconds
    if seconds is None:
        config = json.loads(os.environ["TF_CONFIG"])
        seconds = SECONDS
        if len(config["cluster"]["worker"]) == 2 and config["task"]["index"] == 0:
            made = int(MADE.read_text()) + 1 if MADE.exists() else 1
            MADE.write_text(str(made))
            seconds *= 10 if made == 3 else 1
    return seconds


@workload("held_up")
def held_up(batch_size=8):
    took = of_this_run()
    return stepping(lambda: time.sleep(took), batch_size)


@pytest.mark.tfperf(
    held_up, strategy="multi_worker_mirrored", reference="multi_worker_mirrored", replicas=[2], tolerance=0.4
)
def test_held_up(tfperf):
    tfperf.check()
'''


def test_one_run_of_five_is_left_out_and_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    gate = new_gate(tmp_path_factory, "held-up")
    done = gate.run("--tfperf-force-save", "--tfperf-rounds=5", suite=HELD_UP)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Left out: T\(2\) of round 3, .* below the other 4 runs", done.stdout), done.stdout
    # All five are kept in the baseline, and the one that is not like the others widens nothing there either.
    done = gate.run("--tfperf-strict", suite=HELD_UP)
    assert done.returncode == 0, done.stdout
    assert "1 unchanged" in done.stdout
    assert "Left out" not in done.stdout
