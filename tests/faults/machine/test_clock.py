"""A wall clock that jumps by days and back while a session measures: nothing that is measured hangs on it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.machine.gate import arguments, gate, runs, windows
from tests.faults.machine.places import there
from tests.gate.steady import SECONDS

pytestmark = pytest.mark.alone

DAY = 86_400
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A day back, right, a day ahead, each for a fifth of a second. */
static time_t jump(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return ((now.tv_sec * 5 + now.tv_nsec / 200000000) % 3 - 1) * 86400;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec fine;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec + jump();
    now->tv_usec = fine.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec fine;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &fine);
    if (now) *now = fine.tv_sec + jump();
    return fine.tv_sec + jump();
}
"""
SUITE = """
import time

import pytest
from steady import steady

@pytest.mark.tfperf(steady, strategy="independent", replicas=[2], batch_size=8)
def test_alone(tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="multi_worker_mirrored", replicas=[2], batch_size=8)
def test_together(tfperf):
    tfperf.check()

def days(task=None):
    began, seen = time.time(), set()
    for _ in range(80):
        seen.add(round((time.time() - began) / 86400))
        time.sleep(0.01)
    return seen

def test_the_clock_jumps(tf_cluster):
    assert len(days()) > 1
    (there,) = tf_cluster(workers=1).run(days, timeout=60).values()
    assert len(there) > 1
"""


@pytest.fixture(scope="module")
def jumping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that comes between a program and its wall clock. The machine's own clock is everybody's."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    library = folder / "clock.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(folder / "clock.c")]
    subprocess.run(command, check=True, capture_output=True)
    return library


def test_a_wall_clock_that_jumps(jumping: Path, tmp_path: Path) -> None:
    """TensorFlow's coordination of workers looks at that clock itself and may give up: an error, and no verdict."""
    folder = gate(tmp_path / "gate", SUITE)
    done = there("here", arguments(folder, "-rA"), LD_PRELOAD=str(jumping))
    for name in ("test_alone[2]", "test_the_clock_jumps"):
        assert f"PASSED {name}" in _outcomes(done.stdout), done.stdout + done.stderr
    if "PASSED test_together[2]" not in _outcomes(done.stdout):
        assert "ERROR test_together[2]" in _outcomes(done.stdout), done.stdout
        # TensorFlow's two ways to say it, by who notices first.
        assert re.search("heartbeat timeout|stopped sending heartbeats", done.stdout), done.stdout
    assert len(windows(folder)) >= 15
    for start, end, steps in windows(folder):
        # A step waits for SECONDS: it can take longer on a busy machine, but no jump may make it shorter, or hours.
        assert 0.99 * SECONDS < (end - start) / steps < DAY / 100
    assert all(0 < run["throughput"] < 2 * 8 / (0.99 * SECONDS) for run in runs(folder))
    assert all(0 < run["seconds"] < 600 for run in runs(folder))


def _outcomes(output: str) -> list[str]:
    """Lines of a summary without the file's path: ``PASSED test_alone[2]``."""
    return [re.sub(r"^([A-Z]+) \S*::(\S+).*$", r"\1 \2", line) for line in output.splitlines()]
