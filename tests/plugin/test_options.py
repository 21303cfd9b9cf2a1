"""Options and ini values that are wrong, and what they add up to."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.fixtures import SESSION
from pytest_tfperf.foreseen import check_baselines


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--tfperf-rounds=0"], "*--tfperf-rounds*above 0, not 0*"),
        (["--tfperf-max-time=0"], "*--tfperf-max-time (or tfperf_max_time) must be above 0, not 0.0*"),
        (["--tfperf-timeout=-1"], "*--tfperf-timeout*above 0, not -1.0*"),
        (["--tfperf-keep-sessions=0"], "*--tfperf-keep-sessions (or tfperf_keep_sessions) must be above 0, not 0*"),
        (["--tfperf-wait=-1"], "*--tfperf-wait (or tfperf_wait) is a number of seconds, 0 to not wait, not -1.0*"),
        (["--tfperf-wait=nan"], "*--tfperf-wait (or tfperf_wait) is a number of seconds, 0 to not wait, not nan*"),
        (["--tfperf-wait=inf"], "*--tfperf-wait (or tfperf_wait) must be at most 1,000,000, not inf*"),
        (["--tfperf-timeout=3e6"], "*--tfperf-timeout (or tfperf_timeout) must be at most 1,000,000, not 3e+06*"),
        (["--tfperf-window=inf"], "*--tfperf-window (or tfperf_window) must be at most 1,000,000, not inf*"),
        (["--tfperf-json=a", "--tfperf-html=./a"], "*--tfperf-json and --tfperf-html both name *a;*"),
        (["--tfperf-json=a.db", "--tfperf-history=a.db"], "*--tfperf-json and --tfperf-history both name *a.db;*"),
        (
            ["--tfperf-tensorboard=here.txt"],
            "*--tfperf-tensorboard *here.txt: this is a file, the option takes a folder*",
        ),
        (["--tfperf-history=here.txt"], "*--tfperf-history *here.txt: this is no SQLite database; name another file*"),
        (["--tfperf-json=night.db"], "*--tfperf-json *night.db: this is a database, which a report would replace;*"),
        (["--tfperf-tolerance=5"], "*--tfperf-tolerance is a fraction below 1*5.0*"),
    ],
)
def test_a_value_out_of_range_is_a_usage_error(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    (pytester.path / "here.txt").write_text("hers")
    with closing(sqlite3.connect(pytester.path / "night.db")) as database:
        database.execute("create table night (day text)")
    before = {path.name: path.read_bytes() for path in pytester.path.iterdir() if path.is_file()}
    result = pytester.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert {path.name: path.read_bytes() for path in pytester.path.iterdir() if path.is_file()} == before


def test_a_pipe_or_a_device_takes_two_reports(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--tfperf-json=/dev/null", "--tfperf-html=/dev/null")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tfperf_rounds = many", "*tfperf_rounds = 'many' in *: not int*"),
        ("tfperf_max_time = soon", "*tfperf_max_time = 'soon' in *: not float*"),
        ("tfperf_strict = perhaps", "*perhaps*"),
        ("tfperf_rounds = 0", "*tfperf_rounds*must be above 0, not 0*"),
        ("tfperf_keep_sessions = -3", "*tfperf_keep_sessions*must be above 0, not -3*"),
        ("tfperf_launcher = rocket", "*tfperf_launcher is auto, zygote or spawn, not 'rocket'*"),
    ],
)
def test_a_wrong_ini_value_is_a_usage_error(pytester: pytest.Pytester, line: str, message: str) -> None:
    pytester.makeini(f"[pytest]\n{line}\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


TEST = """
import pytest

@pytest.mark.tfperf("smallconv", strategy="single")
def test_it(tfperf):
    tfperf.check()
"""


def test_a_folder_of_baselines_that_is_not_there_is_a_usage_error_where_a_test_is_held_against_it(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_measures_nothing="def test_it(): pass\n", test_it=TEST)
    result = pytester.runpytest("--tfperf-baselines=nigthly")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tfperf-baselines: */nigthly is no folder; --tfperf-save makes it"])
    for held_against_nothing in (["test_measures_nothing.py"], ["--collect-only"], ["--help"]):
        assert pytester.runpytest("--tfperf-baselines=nigthly", *held_against_nothing).ret == pytest.ExitCode.OK


@pytest.mark.parametrize("option", ["--tfperf-save", "--benchmark-disable", "--tfperf-against=HEAD"])
def test_a_folder_of_baselines_need_not_be_there(pytester: pytest.Pytester, option: str) -> None:
    config = pytester.parseconfigure("--tfperf-baselines=nigthly", option).stash[SESSION].config
    assert config.baselines == pytester.path / "nigthly"
    check_baselines(config)
    with pytest.raises(UsageError):
        check_baselines(pytester.parseconfigure("--tfperf-baselines=nigthly").stash[SESSION].config)


def test_the_ini_files_folder_need_not_be_there(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntfperf_baselines = stored\n")
    check_baselines(pytester.parseconfigure().stash[SESSION].config)


def test_the_command_line_wins_over_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        "[pytest]\ntfperf_rounds = 7\ntfperf_tolerance = 0.2\ntfperf_baselines = stored\ntfperf_keep_sessions = 9\n"
    )
    config = pytester.parseconfigure("--tfperf-rounds=3")
    perf = config.stash[SESSION].config
    assert (perf.rounds, perf.forced_rounds, perf.comparison.tolerance) == (7, 3, 0.2)
    assert perf.baselines == pytester.path / "stored"
    assert perf.keep_sessions == 9
    assert not perf.save


def test_what_a_rerun_needs_is_what_the_command_line_asked_for(pytester: pytest.Pytester) -> None:
    def asked(*arguments: str) -> str:
        return pytester.parseconfigure(*arguments).stash[SESSION].config.rerun_options

    assert asked() == ""
    assert asked("--tfperf-save", "--tfperf-rounds=3", "--tfperf-json=a.json") == ""
    options = ("--tfperf-window=0.2", "--tfperf-strict", "--tfperf-baselines=my folder", "--no-tfperf-compile-cache")
    assert asked(*options) == (
        "--tfperf-baselines 'my folder' --tfperf-window 0.2 --tfperf-strict --no-tfperf-compile-cache"
    )


def test_defaults(pytester: pytest.Pytester) -> None:
    perf = pytester.parseconfigure().stash[SESSION].config
    assert (perf.rounds, perf.comparison.tolerance, perf.save, perf.smoke) == (5, 0.03, False, "")
    assert perf.baselines == pytester.path / "baselines"
    assert perf.keep_sessions == 5
    assert perf.wait == 600
    assert pytester.parseconfigure("--tfperf-wait=0").stash[SESSION].config.wait == 0
    assert (perf.strict, perf.max_time, perf.forced_rounds) == (False, None, None)


def test_strict_and_the_time_limit_can_be_ini_values(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntfperf_strict = true\ntfperf_max_time = 90\n")
    perf = pytester.parseconfigure().stash[SESSION].config
    assert (perf.strict, perf.max_time) == (True, 90.0)
    perf = pytester.parseconfigure("--tfperf-max-time=30").stash[SESSION].config
    assert perf.max_time == 30.0
    assert pytester.parseconfigure("-o", "tfperf_strict=false").stash[SESSION].config.strict is False


def test_strict_on_the_command_line(pytester: pytest.Pytester) -> None:
    assert pytester.parseconfigure("--tfperf-strict").stash[SESSION].config.strict


def test_the_compile_cache_is_on_unless_told_otherwise(pytester: pytest.Pytester) -> None:
    assert pytester.parseconfigure().stash[SESSION].config.compile_cache
    assert not pytester.parseconfigure("--no-tfperf-compile-cache").stash[SESSION].config.compile_cache
    pytester.makeini("[pytest]\ntfperf_compile_cache = false\n")
    assert not pytester.parseconfigure().stash[SESSION].config.compile_cache
    assert pytester.parseconfigure("--tfperf-compile-cache").stash[SESSION].config.compile_cache


def test_force_save_saves(pytester: pytest.Pytester) -> None:
    perf = pytester.parseconfigure("--tfperf-force-save").stash[SESSION].config
    assert perf.save
    assert perf.force_save


def test_benchmark_disable_makes_a_smoke_run(pytester: pytest.Pytester) -> None:
    perf = pytester.parseconfigure("--benchmark-disable").stash[SESSION].config
    assert "--benchmark-disable" in perf.smoke


def test_options_are_documented(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")
    result.stdout.fnmatch_lines(["tfperf: distributed TensorFlow training speed:", "*--tfperf-save*"])
