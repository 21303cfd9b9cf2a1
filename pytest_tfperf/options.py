"""Every command line option and ini value becomes a frozen record here, once."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_tfperf.cluster.compile_cache import keeps_programs
from pytest_tfperf.config import MOST_SECONDS, ComparisonPolicy, Launcher, MeasurementPolicy, PerfConfig
from pytest_tfperf.errors import UsageError
from pytest_tfperf.output_options import add_output_options, outputs


def add_options(parser: pytest.Parser) -> None:
    """Declare the options; an ini value of the same name without dashes sets the default."""
    group = parser.getgroup("tfperf", "tfperf: distributed TensorFlow training speed")
    group.addoption(
        "--tfperf-save",
        action="store_true",
        help="measure all planned rounds, twice those of a gate, then write the baselines of the tests that passed",
    )
    group.addoption(
        "--tfperf-force-save",
        action="store_true",
        help="like --tfperf-save, and write also what it refuses: too noisy, too few rounds, or under a floor",
    )
    group.addoption(
        "--tfperf-keep-sessions",
        type=int,
        metavar="N",
        help="saving sessions that a baseline holds; the oldest beyond them go (default: 5)",
    )
    group.addoption(
        "--tfperf-require-baseline",
        action="store_true",
        help="fail a test without a comparable baseline in this environment; not what is saved, nor in a smoke run",
    )
    group.addoption(
        "--tfperf-strict",
        action="store_true",
        help="fail also what is not decided: the verdicts inconclusive, no_baseline and incomparable",
    )
    group.addoption(
        "--tfperf-rounds",
        type=int,
        metavar="N",
        help="most rounds to measure; a test that is decided sooner stops (default: 5, and 10 with --tfperf-save)",
    )
    group.addoption(
        "--tfperf-max-time",
        type=float,
        metavar="SECONDS",
        help="time the session should take at most: each test gets an even share of it, and two rounds in any case",
    )
    group.addoption(
        "--tfperf-largest",
        action="store_true",
        help="of each test, run the largest replica count alone that this machine has the devices for",
    )
    group.addoption("--tfperf-baselines", metavar="DIR", help="folder of the baselines (default: ROOTDIR/baselines)")
    group.addoption(
        "--tfperf-tolerance", type=float, metavar="FRACTION", help="largest loss that is no regression (default: 0.03)"
    )
    group.addoption("--tfperf-window", type=float, metavar="SECONDS", help="length of a timed window (default: 0.4)")
    group.addoption("--tfperf-timeout", type=float, metavar="SECONDS", help="deadline of one run (default: 600)")
    group.addoption(
        "--tfperf-wait",
        type=float,
        metavar="SECONDS",
        help="longest wait for another session of this user that measures on the same cores or GPUs (default: 600)",
    )
    group.addoption(
        "--tfperf-launcher",
        choices=("auto", "zygote", "spawn"),
        help="how fresh processes are made: forked from one that imported TensorFlow, or started anew (default: auto)",
    )
    group.addoption(
        "--tfperf-compile-cache",
        action="store_true",
        default=None,
        help="use again what XLA has compiled and tuned in an earlier run of the session (default)",
    )
    group.addoption(
        "--no-tfperf-compile-cache",
        action="store_false",
        dest="tfperf_compile_cache",
        help="have every run compile afresh",
    )
    group.addoption(
        "--tfperf-against",
        metavar="REV",
        help="measure this git revision too, in the same rounds, and judge against it instead of the stored baselines",
    )
    group.addoption(
        "--tfperf-against-python",
        metavar="PATH",
        help="interpreter for the other revision, for instance one with another TensorFlow (default: this one)",
    )
    # For the pytest that --tfperf-against starts, not for people.
    group.addoption("--tfperf-serve", type=int, metavar="FD", help=argparse.SUPPRESS)
    # For `tfperf prune`, which needs to know what the suite measures.
    group.addoption("--tfperf-list", metavar="FILE", help=argparse.SUPPRESS)
    group.addoption("--tfperf-keep-logs", action="store_true", help="keep every task's log and say where")
    add_output_options(group, parser)
    parser.addini("tfperf_keep_sessions", "saving sessions that a baseline holds", default="")
    parser.addini("tfperf_strict", "fail also what is not decided", type="bool", default=False)
    parser.addini("tfperf_rounds", "most rounds of a gate", default="")
    parser.addini("tfperf_max_time", "seconds that the session should take at most", default="")
    parser.addini("tfperf_baselines", "folder of the baselines, relative to rootdir", default="")
    parser.addini("tfperf_tolerance", "largest relative loss that is no regression", default="")
    parser.addini("tfperf_window", "length of a timed window in seconds", default="")
    parser.addini("tfperf_timeout", "deadline of one run in seconds", default="")
    parser.addini("tfperf_wait", "longest wait for another session on the same devices, in seconds", default="")
    parser.addini("tfperf_launcher", "auto, zygote or spawn", default="")
    parser.addini("tfperf_compile_cache", "use again what XLA has compiled in the session", type="bool", default=True)


def add_markers(config: pytest.Config) -> None:
    for line in (
        "tfperf(workload, strategy, replicas, min_efficiency, ...): measure a workload under a strategy at each "
        "replica count; see the README of pytest-tfperf for all arguments",
        "gpu: needs as many NVIDIA GPUs as replicas (at least one); skipped where the machine has fewer",
        "multi_gpu(n): needs n NVIDIA GPUs; skipped where the machine has fewer",
    ):
        config.addinivalue_line("markers", line)


def perf_config(config: pytest.Config) -> PerfConfig:
    """Read options over ini values over defaults.

    Raises:
        UsageError: a value is out of its range or of the wrong kind.
    """

    def value(name: str, kind: type, *, line: bool = True) -> Any:
        given = config.getoption(f"tfperf_{name}") if line else None
        text = config.getini(f"tfperf_{name}")
        if given is not None or text == "":
            return given
        try:
            return kind(text)
        except ValueError:
            raise UsageError(f"tfperf_{name} = {text!r} in {config.inipath}: not {kind.__name__}") from None

    def positive(name: str, kind: type, default: float | None, *, line: bool = True) -> Any:
        number = value(name, kind, line=line)
        if number is not None and not number > 0:
            raise UsageError(f"--tfperf-{name.replace('_', '-')} (or tfperf_{name}) must be above 0, not {number}")
        if kind is float and number is not None and number > MOST_SECONDS:
            option = f"--tfperf-{name.replace('_', '-')} (or tfperf_{name})"
            raise UsageError(f"{option} must be at most {MOST_SECONDS:,}, not {number:g}")
        return default if number is None else number

    tolerance = positive("tolerance", float, ComparisonPolicy.tolerance)
    if tolerance >= 1:
        raise UsageError(f"--tfperf-tolerance is a fraction below 1 (0.03 is 3 %), not {tolerance}")
    rounds = positive("rounds", int, PerfConfig.rounds)
    launcher = value("launcher", str) or "auto"
    if launcher not in ("auto", "zygote", "spawn"):
        raise UsageError(f"tfperf_launcher is auto, zygote or spawn, not {launcher!r}")
    wait = value("wait", float)
    wait = PerfConfig.wait if wait is None else wait
    if not wait >= 0:
        raise UsageError(f"--tfperf-wait (or tfperf_wait) is a number of seconds, 0 to not wait, not {wait}")
    if wait > MOST_SECONDS:
        raise UsageError(f"--tfperf-wait (or tfperf_wait) must be at most {MOST_SECONDS:,}, not {wait:g}")
    force = bool(config.getoption("tfperf_force_save"))
    against = _against(config)
    return PerfConfig(
        root=config.rootpath,
        baselines=config.rootpath / Path(value("baselines", str) or "baselines"),
        baselines_named=bool(config.getoption("tfperf_baselines")),
        save=force or bool(config.getoption("tfperf_save")),
        force_save=force,
        keep_sessions=positive("keep_sessions", int, PerfConfig.keep_sessions),
        require_baseline=bool(config.getoption("tfperf_require_baseline")),
        strict=bool(config.getoption("tfperf_strict") or config.getini("tfperf_strict")),
        rounds=positive("rounds", int, PerfConfig.rounds, line=False),
        rerun_options=_rerun_options(config),
        forced_rounds=rounds if config.getoption("tfperf_rounds") is not None else None,
        max_time=positive("max_time", float, None),
        timeout=positive("timeout", float, PerfConfig.timeout),
        wait=wait,
        launcher=cast("Launcher", launcher),
        compile_cache=_compile_cache(config),
        kept_programs=keeps_programs(os.environ),
        keep_logs=bool(config.getoption("tfperf_keep_logs")),
        against=against,
        against_python=_against_python(config, against),
        serve=config.getoption("tfperf_serve"),
        smoke="pytest-benchmark was told --benchmark-disable" if _benchmark_disabled(config) else "",
        outputs=outputs(config),
        measurement=MeasurementPolicy(window_seconds=positive("window", float, MeasurementPolicy.window_seconds)),
        comparison=ComparisonPolicy(tolerance=tolerance),
    )


_TO_REPEAT = ("baselines", "tolerance", "window", "timeout", "launcher", "against_python")
"""Options with a value that change what a rerun finds."""
_FLAGS_TO_REPEAT = ("strict", "require_baseline")


def _rerun_options(config: pytest.Config) -> str:
    """Those of them that the command line has, as a shell takes them."""
    given = [(name.replace("_", "-"), config.getoption(f"tfperf_{name}")) for name in _TO_REPEAT]
    texts = [f"--tfperf-{name} {shlex.quote(str(value))}" for name, value in given if value is not None]
    texts += [f"--tfperf-{name.replace('_', '-')}" for name in _FLAGS_TO_REPEAT if config.getoption(f"tfperf_{name}")]
    if config.getoption("tfperf_compile_cache") is False:
        texts.append("--no-tfperf-compile-cache")
    return " ".join(texts)


def _against(config: pytest.Config) -> str:
    """The revision to measure beside this checkout; empty where there is none, or nothing is judged anyway."""
    given = config.getoption("tfperf_against")
    if given is None or config.getoption("tfperf_serve") is not None:
        return ""
    if not given.strip():
        raise UsageError("--tfperf-against takes a git revision, such as main or HEAD~1")
    for option in ("save", "force_save"):
        if config.getoption(f"tfperf_{option}"):
            raise UsageError(
                f"--tfperf-against and --tfperf-{option.replace('_', '-')} do not go together: runs that were taken in "
                "turns with another revision's are no baseline; save without --tfperf-against"
            )
    return "" if _benchmark_disabled(config) else str(given)


def _against_python(config: pytest.Config, against: str) -> str:
    given = config.getoption("tfperf_against_python")
    if given is None or config.getoption("tfperf_serve") is not None:
        return ""
    if not against and not _benchmark_disabled(config):
        raise UsageError("--tfperf-against-python needs --tfperf-against, the revision that it is to run")
    path = os.path.join(config.invocation_params.dir, os.path.expanduser(given))  # not resolved: a venv's is a link
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise UsageError(f"--tfperf-against-python {given}: {path} is no program that can be run")
    return path


def _compile_cache(config: pytest.Config) -> bool:
    given = config.getoption("tfperf_compile_cache")
    return bool(config.getini("tfperf_compile_cache") if given is None else given)


def _benchmark_disabled(config: pytest.Config) -> bool:
    return bool(config.getoption("benchmark_disable", False)) and not config.getoption("benchmark_enable", False)
