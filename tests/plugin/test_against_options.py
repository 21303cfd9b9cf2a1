"""--tfperf-against: what is wrong with it is said before anything is measured, and what is handed to the other side."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tfperf import handover
from pytest_tfperf.fixtures import SESSION
from pytest_tfperf.session import PerfSession
from tests.unit.against.repository import new_repository, worktrees

SUITE = """
import pytest

@pytest.mark.tfperf("mlp", strategy="single")
def test_mlp(tfperf):
    tfperf.check()
"""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--tfperf-against=main", "--tfperf-save"], "*--tfperf-against and --tfperf-save do not go together*"),
        (["--tfperf-against=main", "--tfperf-force-save"], "*--tfperf-against and --tfperf-force-save do not go*"),
        (["--tfperf-against= "], "*--tfperf-against takes a git revision, such as main*"),
        (["--tfperf-against-python=/bin/sh"], "*--tfperf-against-python needs --tfperf-against*"),
        (
            ["--tfperf-against=main", "--tfperf-against-python=no/python"],
            "*--tfperf-against-python no/python: *no/python is no program*",
        ),
        (["--tfperf-serve=99"], "*--tfperf-serve 99: not a socket*for the pytest that --tfperf-against starts*"),
    ],
)
def test_options_that_do_not_go(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    result = pytester.runpytest_subprocess(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_outside_of_a_repository(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("--tfperf-against=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tfperf-against compares commits*must be in a git repository*"])
    assert "Traceback" not in str(result.stderr)


def test_an_unknown_revision(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    new_repository(pytester.path, {"test_a.py": SUITE})
    monkeypatch.setattr(PerfSession, "take_turn", lambda session: pytest.fail("it has waited for its turn"))
    result = pytester.runpytest("--tfperf-against=no-such")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tfperf-against no-such: no such commit in*"])
    assert worktrees(pytester.path) == 1


@pytest.mark.parametrize(
    "args", [["--collect-only"], ["-k", "nothing"], ["--tfperf-against-python=/bin/sh", "-k", "x"]]
)
def test_nothing_is_checked_out_where_nothing_is_measured(pytester: pytest.Pytester, args: list[str]) -> None:
    new_repository(pytester.path, {"test_a.py": SUITE})
    result = pytester.runpytest("--tfperf-against=no-such", *args)
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def test_a_smoke_run_has_no_other_side(pytester: pytest.Pytester) -> None:
    perf = pytester.parseconfigure("--tfperf-against=main", "--benchmark-disable").stash[SESSION].config
    assert perf.smoke
    assert not perf.against


def test_what_is_handed_over(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:doctest")
    pytester.makeconftest(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--size', default='s')\n"
        "    parser.addoption('--scale', type=int, default=1)\n"
        "    parser.addoption('--deep', action='store_true')\n"
        "    parser.addoption('--other', default='x')\n"
    )
    pytester.makefile(".ini", mine="[pytest]\naddopts = --other=ini\n")
    config = pytester.parseconfig(
        *("-c", "mine.ini", "-o", "tfperf_rounds=3", "--import-mode=importlib", "-k", "not slow", "-x", "-vv"),
        *("--junitxml=out.xml", "--size", "big", "--scale=3", "--deep", "-W", "ignore::UserWarning", "-pno:nose"),
    )
    handed = handover._invocation(config, (Path("/repo/test_a.py"),))
    words = " ".join(handed.arguments)
    assert "-p no:doctest -p no:nose" in words
    assert "-o tfperf_rounds=3" in words
    assert "-W ignore::UserWarning" in words
    assert "--import-mode=importlib" in words
    assert "--size=big --scale=3 --deep" in words
    for not_there in ("slow", "-x", "junit", "--other", "-vv"):
        assert not_there not in words
    assert handed.config_file == pytester.path / "mine.ini"
    assert handed.cwd == pytester.path
    assert handed.files == (Path("/repo/test_a.py"),)
