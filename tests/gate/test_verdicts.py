"""The gate works: real clusters, a real slowdown, and the right test fails for the right reason.

With the slowdown a step takes four times as long, so that no noise of a busy machine can hide or make it.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.gate.conftest import SUITE, Gate

SLOW_SCALING = ", slowdown={2: 3.0}"
SLOW_REFERENCE = ', slowdown={"reference": 3.0}'


def row(output: str, label: str) -> str:
    """The line of the failure's table that starts with `label`."""
    return next(line for line in output.splitlines() if line.strip().startswith(label))


def test_identical_code_passes(saved: Gate) -> None:
    done = saved.run()
    assert done.returncode == 0, done.stdout
    assert "regressed" not in done.stdout


def test_a_test_that_does_not_call_check_is_named_where_that_would_have_failed(saved: Gate) -> None:
    suite = SUITE.replace("tfperf.check()", "assert tfperf.throughput > 0")
    done = saved.run(suite=suite.format(extra=SLOW_SCALING))
    assert done.returncode == 0, done.stdout
    told = "passed, though tfperf.check() would have failed: test_suite.py::test_scales[2]; does the test call it?"
    assert told in done.stdout
    done = saved.run(suite=suite.format(extra=""))
    assert "tfperf.check()" not in done.stdout


def test_identical_code_is_decided_before_the_planned_rounds_where_its_tolerance_is_wide(saved: Gate) -> None:
    done = saved.run("--tfperf-strict", suite=SUITE.format(extra="").replace("tolerance=0.4", "tolerance=0.95"))
    assert done.returncode == 0, done.stdout
    assert "decided after 2 of 5 rounds: T(2) unchanged" in done.stdout
    assert "round 3/5" not in done.stdout
    assert "1 unchanged" in done.stdout


def test_slower_scaling_fails_and_names_tn_and_en(saved: Gate, tmp_path: Path) -> None:
    done = saved.run(f"--junitxml={tmp_path / 'junit.xml'}", extra=SLOW_SCALING)
    assert done.returncode == 1, done.stdout
    assert "What moved: T(2) and E(2)." in done.stdout
    told = re.search(r"^tfperf:   failed: regressed \(T\(2\) -", done.stdout, re.MULTILINE)
    assert told
    assert told.start() < done.stdout.index("= FAILURES =")
    # On a machine too busy to say that T(1) is as it was, the failure says so instead.
    assert re.search("the loss is in scaling, not in the model|Whether one replica alone got slower too", done.stdout)
    assert "regressed" not in row(done.stdout, "T(1)")
    assert "regressed, tolerance 40.0 %" in row(done.stdout, "T(2)")
    assert "regressed" in row(done.stdout, "E(2)")
    assert re.search(r'Again: pytest "test_suite\.py::test_scales\[2\]" --tfperf-rounds 10', done.stdout)
    assert "Traceback" not in done.stdout
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "T(2)" in (failure.get("message") or "")
    assert "What moved" in (failure.text or "")


def test_a_slower_reference_fails_naming_t1_though_efficiency_rose(saved: Gate) -> None:
    done = saved.run(extra=SLOW_REFERENCE)
    assert done.returncode == 1, done.stdout
    assert "What moved: T(1)." in done.stdout
    assert "regressed" in row(done.stdout, "T(1)")
    assert "regressed" not in row(done.stdout, "T(2)")
    assert re.search(r"E\(2\).*\+[0-9.]+ pt", row(done.stdout, "E(2)"))


def test_faster_is_improved_and_passes(slow: Gate) -> None:
    done = slow.run()
    assert done.returncode == 0, done.stdout
    assert re.search(r"test_scales|steady.* improved", done.stdout)
    assert "improved" in done.stdout


def test_a_killed_worker_is_an_error_and_no_regression(saved: Gate) -> None:
    suite = """
import os, signal
import pytest
from pytest_tfperf import workload

@workload("dies")
def dies(batch_size=8):
    import json
    import tensorflow as tf
    if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
        print("about to be killed", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("worker 1 dies first")

@pytest.mark.tfperf(dies, strategy="multi_worker_mirrored", replicas=[2], reference="multi_worker_mirrored")
def test_dies(tfperf):
    tfperf.check()
"""
    suite = suite.replace('    raise AssertionError("worker 1 dies first")', ALIVE)
    done = saved.run(suite=suite)
    assert done.returncode == 1
    assert "1 error" in done.stdout
    assert "failed" not in done.stdout.splitlines()[-1]
    assert "worker:1" in done.stdout
    assert "SIGKILL" in done.stdout
    assert "about to be killed" in done.stdout
    assert "REGRESSED" not in done.stdout


ALIVE = """
    weights = tf.Variable(tf.ones([4, 1]))
    class Model(tf.Module):
        def __init__(self):
            self.w = weights
        def __call__(self, x):
            return x @ self.w
    return Model(), lambda y, out: tf.reduce_mean((y - out) ** 2), (tf.ones([batch_size, 4]), tf.ones([batch_size, 1]))
"""
