"""What pytest, its other plugins and the user's fixtures do to a session: errors of theirs, and none of ours after."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.parent.parents import ONE, SUITE, parent


def test_the_first_failure_ends_the_session(tmp_path: Path) -> None:
    """With -x, while the zygote still imports."""
    suite = "def test_fails():\n    assert 1 == 2\n" + ONE
    with parent(tmp_path) as one:
        ended = one.run("-x", "--tfperf-json=report.json", suite=suite)
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "1 failed" in ended.output
        assert ended.is_no_verdict(), ended.output
        assert one.report() == {"test_struck": None}


def test_a_timeout_by_signal(tmp_path: Path) -> None:
    """pytest-timeout raises in the middle of whatever is done: that test has an error, and the others are measured."""
    suite = SUITE.replace("@pytest.mark.tfperf(struck", "@pytest.mark.timeout(4)\n@pytest.mark.tfperf(struck")
    with parent(tmp_path) as one:
        options = ("-o", "timeout_method=signal", "--tfperf-json=report.json")
        ended = one.run(*options, suite=suite, strike="step hang session 1")
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "Timeout (>4.0s) from pytest-timeout" in ended.output
        assert "2 passed, 1 error" in ended.output
        assert "regressed" not in ended.output
        assert one.report() == {"test_before": "no_baseline", "test_struck": None, "test_after": "no_baseline"}


INTERRUPTED = """
import psutil
import pytest
from steady import steady

@pytest.mark.timeout(600)
@pytest.mark.tfperf(steady, strategy="single", variant="asked")
def test_asked(tfperf):
    tfperf.check()

@pytest.mark.timeout(600)
@pytest.mark.tfperf(steady, strategy="single", variant="closing")
def test_closing(tfperf):
    tfperf.check()

def test_nobody_is_left():
    (zygote,) = psutil.Process().children()
    assert zygote.children() == []

@pytest.mark.tfperf(steady, strategy="multi_worker_mirrored", replicas=[2])
def test_after(tfperf):
    tfperf.check()
"""


def test_a_timeout_by_signal_at_the_worst_moments(tmp_path: Path) -> None:
    """Between a request for one port and its answer, which is not to be that to a request for two; and as tasks end."""
    points = "pytest_tfperf.cluster.supervisor_process:SupervisorProcess.readable=,SIGALRM "
    points += "pytest_tfperf.cluster.task_group:TaskGroup._await_exits=SIGALRM"
    with parent(tmp_path) as one:
        options = ("-o", "timeout_method=signal", "--no-tfperf-compile-cache")
        ended = one.run(*options, suite=INTERRUPTED, points=points)
        assert "2 passed, 2 errors" in ended.output, ended.output
        assert ended.output.count("Timeout (>600.0s) from pytest-timeout") >= 2


def test_a_timeout_by_thread(tmp_path: Path) -> None:
    """pytest-timeout ends the whole process at once: nobody is told more than it says, and nobody lives on."""
    with parent(tmp_path) as one:
        options = ("-o", "timeout_method=thread", "-o", "timeout=6")
        ended = one.run(*options, suite=ONE, strike="step hang session any")
        assert ended.code == 1, ended.output
        assert "Timeout" in ended.output
        assert "regressed" not in ended.output


FIXTURES = """
import pytest
from steady import steady

@pytest.fixture
def broken():
    raise ValueError("the user's set-up")

@pytest.fixture
def broken_after(tfperf):
    raise ValueError("the user's set-up after the measurement")

@pytest.fixture
def breaks():
    yield
    raise ValueError("the user's teardown")

@pytest.fixture
def breaks_cluster(tf_cluster):
    cluster = tf_cluster(workers=1)
    cluster.run(lambda task: None)
    yield
    raise ValueError("the user's teardown beside a cluster")

@pytest.mark.tfperf(steady, strategy="single", variant="setup")
def test_setup(broken, tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", variant="late")
def test_late_setup(broken_after, tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", variant="teardown")
def test_teardown(breaks, tfperf):
    tfperf.check()

def test_cluster(breaks_cluster):
    pass

@pytest.mark.tfperf(steady, strategy="single", variant="good")
def test_good(tfperf):
    tfperf.check()
"""


def test_failing_fixtures_of_the_user(tmp_path: Path) -> None:
    """Before and after `tfperf` is used, and on the way out; only what passed is saved."""
    with parent(tmp_path) as one:
        ended = one.run("--tfperf-force-save", "--tfperf-json=report.json", suite=FIXTURES)
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "3 passed, 4 errors" in ended.output
        for text in ("set-up", "set-up after the measurement", "teardown", "teardown beside a cluster"):
            assert f"ValueError: the user's {text}\n" in ended.output
        measured = dict.fromkeys(("test_late_setup", "test_teardown", "test_good"), "no_baseline")
        assert one.report() == {"test_setup": None, **measured}
        assert one.baselines() == ["good", "teardown"]


HOLDER = """
import os, time
import pytest
from pytest_tfperf.fixtures import SESSION

@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    pid = os.fork()
    if pid == 0:
        time.sleep(3600)
        os._exit(0)
    with open("holder.txt", "w") as file:
        file.write(str(pid))

@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    with open("zygote.txt", "w") as file:
        file.write(str(config.stash[SESSION].launcher._nurseries.current._process.code))
"""
FORKS = """
import atexit, os
import pytest
from pytest_tfperf.fixtures import SESSION
from steady import steady

def forked(body):
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        body()
    except Exception as error:
        with open("children.txt", "a") as file:
            print(type(error).__name__, error, file=file)
    finally:
        atexit._run_exitfuncs()
        os._exit(3)

def where(task):
    return task.id.index

def test_in_a_cluster(tf_cluster, request):
    session = request.config.stash[SESSION]
    cluster = tf_cluster(workers=2)

    def use():
        with cluster:
            cluster.run(where)

    def close_and_start():
        cluster.close()
        session.launcher.close()
        session.close()
        session.launcher.start(cluster.placements)

    assert forked(use) == 3
    assert forked(close_and_start) == 3
    assert session.launcher.run_dir.is_dir()
    assert list(cluster.run(where).values()) == [0, 1]

@pytest.mark.tfperf(steady, strategy="single")
def test_after(tfperf):
    tfperf.check()
"""


def test_processes_that_another_plugin_forks(tmp_path: Path) -> None:
    """They inherit every object of ours: they may neither use nor end what is not theirs, nor hold anything up."""
    with parent(tmp_path) as one:
        (one.folder / "conftest.py").write_text(HOLDER)
        ended = one.run(suite=FORKS)
        assert ended.code == 0, ended.output
        assert (one.folder / "zygote.txt").read_text() == "0", "it left by itself, though a child holds its socket"
        errors = (one.folder / "children.txt").read_text().splitlines()
        assert [error.partition(" ")[0] for error in errors] == ["UsageError", "UsageError"]
        holder = int((one.folder / "holder.txt").read_text())
        assert len(one.processes()) == 1
        os.kill(holder, signal.SIGTERM)  # which ends it as it would without us


FORKED = '''
"""What pytest-forked does, in short: each test in a child of pytest, which sends its reports."""
import os, pickle
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if "forked" not in item.keywords:
        return None
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        hook = item.config.hook.pytest_report_to_serializable
        os.write(writer, pickle.dumps([hook(config=item.config, report=one) for one in reports]))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for one in pickle.loads(data):
        report = item.config.hook.pytest_report_from_serializable(config=item.config, data=one)
        item.ihook.pytest_runtest_logreport(report=report)
    return True
'''


def test_tests_that_run_in_forked_processes_are_refused(tmp_path: Path) -> None:
    """What they measured would be lost with them; the others of the session are as ever."""
    mark = "@pytest.mark.forked\n@pytest.mark.tfperf(struck"
    with parent(tmp_path) as one:
        (one.folder / "conftest.py").write_text(FORKED)
        options = ("-o", "markers=forked", "--tfperf-json=report.json")
        ended = one.run(*options, suite=SUITE.replace("@pytest.mark.tfperf(struck", mark))
        assert "2 passed, 1 error" in ended.output, ended.output
        assert "This process was forked from the one that pytest began in" in ended.output
        assert one.report() == {"test_before": "no_baseline", "test_struck": None, "test_after": "no_baseline"}
