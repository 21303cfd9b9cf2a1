"""Ctrl-C, SIGTERM and SIGHUP, once and again while the first is handled: exit code 2, and nothing is left."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cluster.processes import poll
from tests.faults.parent.parents import ONE, parent, repository
from tests.unit.against.repository import commit, git, worktrees

REPORTS = ("--tfperf-json=report.json", "--tfperf-markdown=report.md")


def test_ctrl_c_while_the_cluster_starts_and_more_while_that_is_handled(tmp_path: Path) -> None:
    """The third comes as the session closes, when pytest's own work is done: nothing is left half closed."""
    points = "pytest_tfperf.cluster.nursery:Nursery.wait_ready=SIGINT "
    points += "pytest_tfperf.cluster.nursery:Nursery.close=SIGINT,SIGINT"
    with parent(tmp_path) as one:
        ended = one.run(*REPORTS, points=points)
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert "KeyboardInterrupt" in ended.output
        assert ended.is_no_verdict(), ended.output
        assert set(one.report().values()) == {None}


def test_ctrl_c_in_a_run_and_again_while_its_tasks_are_ended(tmp_path: Path) -> None:
    """The tasks do not heed SIGTERM, so that ending them takes its time. What was measured before is reported."""
    with parent(tmp_path) as one:
        ended = one.run(*REPORTS, strike="step SIGINT session-again 1")
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert Path(f"{one.struck}-again").exists()
        assert "KeyboardInterrupt" in ended.output
        assert ended.is_no_verdict(), ended.output
        assert one.report() == {"test_before": "no_baseline", "test_struck": None, "test_after": None}
        # So is what there is of the sweep that was interrupted, though nothing is judged by it.
        assert one.runs() == {"test_before": {"T(1)": 1}, "test_struck": {"T(1)": 1, "T(2)": 0}}
        assert "test_before" in (one.folder / "report.md").read_text()
        assert "1 no_baseline" in ended.output


def test_ctrl_c_while_a_baseline_is_written_and_again_in_a_report(tmp_path: Path) -> None:
    """The file is whole, for the signal waits until it is; the other reports are written."""
    with parent(tmp_path) as one:
        # Of a new baseline itself, of its folder, of the folder of that; then of the JSON report.
        ended = one.run(*REPORTS, "--tfperf-force-save", points="os:fsync=SIGINT,,,SIGINT")
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert one.baselines() == ["before"]
        assert "JSON report was interrupted" in ended.output
        assert "test_before" in (one.folder / "report.md").read_text()
        assert ended.is_no_verdict(), ended.output


def test_ctrl_c_in_a_report_changes_the_exit_code_alone(tmp_path: Path) -> None:
    with parent(tmp_path) as one:
        (one.folder / "conftest.py").write_text("def pytest_collection_modifyitems(items):\n    del items[1:]\n")
        ended = one.run(*REPORTS, points="os:fsync=SIGINT")
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert "1 passed" in ended.output
        assert "1 no_baseline" in ended.output
        assert "JSON report was interrupted" in ended.output
        assert "test_before" in (one.folder / "report.md").read_text()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_that_end_a_session(name: str, tmp_path: Path) -> None:
    """As Ctrl-C; the message says which it was."""
    with parent(tmp_path) as one:
        how = {"strike": f"step {name} session any"} if name == "SIGTERM" else {}
        how |= {"points": f"pytest_tfperf.cluster.nursery:Nursery.wait_ready={name}"} if name == "SIGHUP" else {}
        ended = one.run(*REPORTS, suite=ONE, **how)
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert f"{name} has ended the session" in ended.output
        assert ended.is_no_verdict(), ended.output
        assert one.report() == {"test_struck": None}


def test_a_session_without_measurements_ends_of_sigterm_as_ever(tmp_path: Path) -> None:
    """Nothing is changed for suites that only have the plugin installed; clusters of `tf_cluster` go all the same."""
    suite = """
import os, signal, time

def strike(task):
    if task.id.index == 1:
        os.kill(int(os.environ["TFPERF_SESSION"]), signal.SIGTERM)
    time.sleep(3600)

def test_cluster(tf_cluster):
    tf_cluster(workers=2).run(strike)
"""
    with parent(tmp_path) as one:
        ended = one.run(suite=suite)
        assert ended.code == -signal.SIGTERM, ended.output


def test_sigterm_while_another_revision_is_measured(tmp_path: Path) -> None:
    with parent(tmp_path) as one:
        top = repository(one)
        commit(top, {"test_suite.py": ONE})
        ended = one.run(*REPORTS, "--tfperf-against=HEAD", suite=None, strike="step SIGTERM session any")
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert one.struck.exists()
        assert "SIGTERM has ended the session" in ended.output
        assert ended.is_no_verdict(), ended.output
        assert worktrees(top) == 1
        assert json.loads((one.folder / "report.json").read_text())["exit_status"] == pytest.ExitCode.INTERRUPTED


def test_sigterm_while_git_checks_the_other_revision_out(tmp_path: Path) -> None:
    """Git is in the middle of it, within a filter of the user's that does not end."""
    with parent(tmp_path) as one:
        top = repository(one)
        commit(top, {"test_suite.py": ONE, ".gitattributes": "*.dat filter=slow\n", "large.dat": "content\n"})
        git(top, "config", "filter.slow.smudge", f"touch '{one.struck}'; sleep 3600")
        session = one.begin("--tfperf-against=HEAD", suite=None)
        poll(lambda: one.struck.exists() or session.process.poll() is not None, "git is at it", 120)
        session.process.send_signal(signal.SIGTERM)
        ended = session.end()
        assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
        assert "SIGTERM has ended the session" in ended.output
        assert worktrees(top) == 1
        assert not list((top / ".git").glob("worktrees/*"))
