"""Every command line option and ini value becomes a frozen record here, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from pytest_tfperf.config import ComparisonPolicy, Launcher, MeasurementPolicy, PerfConfig
from pytest_tfperf.errors import UsageError


def add_options(parser: pytest.Parser) -> None:
    """Declare the options; an ini value of the same name without dashes sets the default."""
    group = parser.getgroup("tfperf", "tfperf: distributed TensorFlow training speed")
    group.addoption(
        "--tfperf-save", action="store_true", help="measure, then write the baselines of the tests that passed"
    )
    group.addoption(
        "--tfperf-force-save",
        action="store_true",
        help="like --tfperf-save, and write also what it refuses: too noisy, too few rounds, or under a floor",
    )
    group.addoption(
        "--tfperf-require-baseline",
        action="store_true",
        help="fail a test that has no comparable baseline in this environment",
    )
    group.addoption("--tfperf-rounds", type=int, metavar="N", help="rounds to measure (default: 5)")
    group.addoption("--tfperf-baselines", metavar="DIR", help="folder of the baselines (default: ROOTDIR/baselines)")
    group.addoption(
        "--tfperf-tolerance", type=float, metavar="FRACTION", help="largest loss that is no regression (default: 0.05)"
    )
    group.addoption("--tfperf-window", type=float, metavar="SECONDS", help="length of a timed window (default: 0.4)")
    group.addoption("--tfperf-timeout", type=float, metavar="SECONDS", help="deadline of one run (default: 600)")
    group.addoption(
        "--tfperf-launcher",
        choices=("auto", "zygote", "spawn"),
        help="how fresh processes are made: forked from one that imported TensorFlow, or started anew (default: auto)",
    )
    group.addoption("--tfperf-keep-logs", action="store_true", help="keep every task's log and say where")
    parser.addini("tfperf_rounds", "rounds to measure", default="")
    parser.addini("tfperf_baselines", "folder of the baselines, relative to rootdir", default="")
    parser.addini("tfperf_tolerance", "largest relative loss that is no regression", default="")
    parser.addini("tfperf_window", "length of a timed window in seconds", default="")
    parser.addini("tfperf_timeout", "deadline of one run in seconds", default="")
    parser.addini("tfperf_launcher", "auto, zygote or spawn", default="")


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

    def value(name: str, kind: type) -> Any:
        given = config.getoption(f"tfperf_{name}")
        text = config.getini(f"tfperf_{name}")
        if given is not None or text == "":
            return given
        try:
            return kind(text)
        except ValueError:
            raise UsageError(f"tfperf_{name} = {text!r} in {config.inipath}: not {kind.__name__}") from None

    def positive(name: str, kind: type, default: float) -> Any:
        number = value(name, kind)
        if number is not None and not number > 0:
            raise UsageError(f"--tfperf-{name} (or tfperf_{name}) must be above 0, not {number}")
        return default if number is None else number

    tolerance = positive("tolerance", float, ComparisonPolicy.tolerance)
    if tolerance >= 1:
        raise UsageError(f"--tfperf-tolerance is a fraction below 1 (0.05 is 5 %), not {tolerance}")
    launcher = value("launcher", str) or "auto"
    if launcher not in ("auto", "zygote", "spawn"):
        raise UsageError(f"tfperf_launcher is auto, zygote or spawn, not {launcher!r}")
    force = bool(config.getoption("tfperf_force_save"))
    return PerfConfig(
        root=config.rootpath,
        baselines=config.rootpath / Path(value("baselines", str) or "baselines"),
        save=force or bool(config.getoption("tfperf_save")),
        force_save=force,
        require_baseline=bool(config.getoption("tfperf_require_baseline")),
        rounds=positive("rounds", int, PerfConfig.rounds),
        forced_rounds=config.getoption("tfperf_rounds"),
        timeout=positive("timeout", float, PerfConfig.timeout),
        launcher=cast("Launcher", launcher),
        keep_logs=bool(config.getoption("tfperf_keep_logs")),
        smoke="pytest-benchmark was told --benchmark-disable" if _benchmark_disabled(config) else "",
        measurement=MeasurementPolicy(window_seconds=positive("window", float, MeasurementPolicy.window_seconds)),
        comparison=ComparisonPolicy(tolerance=tolerance),
    )


def _benchmark_disabled(config: pytest.Config) -> bool:
    return bool(config.getoption("benchmark_disable", False)) and not config.getoption("benchmark_enable", False)
