"""SIGKILL of pytest and of the zygote, in real sessions: what can be told is told, and nobody lives on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cluster.processes import poll
from tests.faults.parent.parents import ONE, nothing_is_left, parent, repository
from tests.unit.against.repository import commit, worktrees


def test_pytest_is_killed_while_two_revisions_are_measured(tmp_path: Path) -> None:
    """Both sides' processes and folders go within seconds; the worktree with the next session, however that ends."""
    with parent(tmp_path) as one:
        top = repository(one)
        commit(top, {"test_suite.py": ONE})
        killed = one.run("--tfperf-against=HEAD", suite=None, strike="step SIGKILL session any")
        assert killed.code == -signal.SIGKILL, killed.output
        nothing_is_left(one, worktrees=1)
        assert worktrees(top) == 2
        points = "pytest_tfperf.cluster.nursery:Nursery.wait_ready=SIGTERM"
        again = one.run("--tfperf-against=HEAD", suite=None, points=points)
        assert again.code == pytest.ExitCode.INTERRUPTED, again.output
        assert worktrees(top) == 1


def test_pytest_is_killed_while_the_zygote_imports(tmp_path: Path) -> None:
    """An import that takes for ever keeps nobody alive."""
    marker = tmp_path / "importing"
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tensorflow.python':\n"
        f"            open({str(marker)!r}, 'w').close()\n"
        "            import time\n"
        "            time.sleep(3600)\n"
        "if 'pytest_tfperf.cluster.zygote' in sys.orig_argv:\n"
        "    sys.meta_path.insert(0, Slow())\n"
    )
    with parent(tmp_path) as one:
        one.paths.append(str(tmp_path))
        session = one.begin(suite=ONE)
        poll(lambda: marker.exists() or session.process.poll() is not None, "the zygote imports", 120)
        session.process.kill()
        session.end()


ZYGOTES = """
import pytest
from steady import steady
from struck import struck

@pytest.mark.tfperf(steady, strategy="single", variant="import")
def test_killed_in_its_import(tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", variant="start")
def test_killed_as_a_cluster_starts(tfperf):
    tfperf.check()

@pytest.mark.tfperf(struck, strategy="single")
def test_killed_in_a_run(tfperf):
    tfperf.check()

@pytest.mark.tfperf(steady, strategy="single", variant="after")
def test_after(tfperf):
    tfperf.check()
"""


def test_the_zygote_is_killed(tmp_path: Path) -> None:
    """The test that it happens to has an error; the next one has a zygote of its own, and the last one passes."""
    points = "pytest_tfperf.cluster.nursery:Nursery.wait_ready=zygote "
    points += "pytest_tfperf.cluster.launcher:await_ready=zygote"
    with parent(tmp_path) as one:
        # Without the cache of compiled programs, or a run that fails in its warm-up is made again without it.
        options = ("--no-tfperf-compile-cache", "--tfperf-json=report.json")
        ended = one.run(*options, suite=ZYGOTES, points=points, strike="step SIGKILL zygote any")
        assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
        assert "1 passed, 3 errors" in ended.output
        assert "The process that imports TensorFlow and starts the tasks has ended (killed by SIGKILL)" in ended.output
        assert ended.output.count("The process that supervises the tasks has ended (killed by SIGKILL)") >= 2
        assert ended.is_no_verdict(), ended.output
        killed = dict.fromkeys(("test_killed_in_its_import", "test_killed_as_a_cluster_starts", "test_killed_in_a_run"))
        assert one.report() == {**killed, "test_after": "no_baseline"}
