"""Options and ini values that are wrong, and what they add up to."""

from __future__ import annotations

import pytest

from pytest_tfperf.fixtures import SESSION


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--tfperf-rounds=0"], "*--tfperf-rounds*above 0, not 0*"),
        (["--tfperf-timeout=-1"], "*--tfperf-timeout*above 0, not -1.0*"),
        (["--tfperf-tolerance=5"], "*--tfperf-tolerance is a fraction below 1*5.0*"),
    ],
)
def test_a_value_out_of_range_is_a_usage_error(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    result = pytester.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tfperf_rounds = many", "*tfperf_rounds = 'many' in *: not int*"),
        ("tfperf_launcher = rocket", "*tfperf_launcher is auto, zygote or spawn, not 'rocket'*"),
    ],
)
def test_a_wrong_ini_value_is_a_usage_error(pytester: pytest.Pytester, line: str, message: str) -> None:
    pytester.makeini(f"[pytest]\n{line}\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_the_command_line_wins_over_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntfperf_rounds = 7\ntfperf_tolerance = 0.2\ntfperf_baselines = stored\n")
    config = pytester.parseconfigure("--tfperf-rounds=3")
    perf = config.stash[SESSION].config
    assert (perf.rounds, perf.forced_rounds, perf.comparison.tolerance) == (3, 3, 0.2)
    assert perf.baselines == pytester.path / "stored"
    assert not perf.save


def test_defaults(pytester: pytest.Pytester) -> None:
    perf = pytester.parseconfigure().stash[SESSION].config
    assert (perf.rounds, perf.comparison.tolerance, perf.save, perf.smoke) == (5, 0.05, False, "")
    assert perf.baselines == pytester.path / "baselines"


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
