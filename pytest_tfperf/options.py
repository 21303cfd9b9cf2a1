"""Every command line option, ini value and marker becomes a frozen record here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_tfperf.config import ComparisonPolicy, Launcher, MeasurementPolicy, PerfConfig
from pytest_tfperf.errors import UsageError
from pytest_tfperf.records.arm import Device, Scalar, SweepSpec
from pytest_tfperf.strategies import registry as strategies
from pytest_tfperf.strategies.base import Strategy
from pytest_tfperf.workloads import registry as workloads
from pytest_tfperf.workloads.base import WorkloadDefinition
from pytest_tfperf.workloads.settings import did_you_mean

_MARKER_ARGUMENTS = (
    "strategy", "replicas", "min_efficiency", "tolerance", "rounds", "reference", "variant", "slowdown", "timeout",
)  # fmt: skip


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
        timeout=positive("timeout", float, PerfConfig.timeout),
        launcher=cast("Launcher", launcher),
        keep_logs=bool(config.getoption("tfperf_keep_logs")),
        smoke="pytest-benchmark was told --benchmark-disable" if _benchmark_disabled(config) else "",
        measurement=MeasurementPolicy(window_seconds=positive("window", float, MeasurementPolicy.window_seconds)),
        comparison=ComparisonPolicy(tolerance=tolerance),
    )


def _benchmark_disabled(config: pytest.Config) -> bool:
    return bool(config.getoption("benchmark_disable", False)) and not config.getoption("benchmark_enable", False)


def sweep_spec(marker: pytest.Mark, test: str, device: Device) -> SweepSpec:
    """Check a tfperf marker and make it a record.

    Raises:
        UsageError: an argument is missing, unknown or wrong; the message names the test and the argument.
    """
    try:
        return _sweep_spec(marker, test, device)
    except UsageError as error:
        raise UsageError(f"{test}: @pytest.mark.tfperf: {error}") from None


def _sweep_spec(marker: pytest.Mark, test: str, device: Device) -> SweepSpec:
    given = dict(marker.kwargs)
    if len(marker.args) != 1:
        raise UsageError("give one workload, a name or a decorated function, as the first argument")
    workload = workloads.get(marker.args[0])
    if "strategy" not in given:
        raise UsageError("argument 'strategy' is missing")
    strategy = strategies.get(given.pop("strategy"))
    own = {key: given.pop(key) for key in _MARKER_ARGUMENTS if key in given}
    options, params = _split(given, workload, strategy)
    replicas = _replicas(own.get("replicas", (1,)))
    reference = strategies.get(own.get("reference", "single")).name
    for count in replicas:
        strategy.layout(count, options)
    return SweepSpec(
        test=test,
        workload=workload.name,
        strategy=strategy.name,
        replicas=replicas,
        device=device,
        workload_params=workloads.resolve_params(workload, params),
        strategy_options=options,
        min_efficiency=_fractions("min_efficiency", own.get("min_efficiency"), replicas, highest=2.0),
        tolerance=_fractions("tolerance", own.get("tolerance"), replicas, highest=0.999),
        rounds=_whole("rounds", own.get("rounds")),
        reference=reference,
        variant=_variant(own.get("variant")),
        slowdown=_slowdown(own.get("slowdown"), replicas),
        timeout=_positive("timeout", own.get("timeout")),
    )


def _split(
    given: Mapping[str, Any], workload: WorkloadDefinition, strategy: Strategy
) -> tuple[dict[str, Scalar], dict[str, Any]]:
    """Tell the strategy's options from the workload's parameters; what is neither is unknown."""
    known = strategy.options
    both = sorted(set(known) & set(workload.params))
    if both:
        raise UsageError(
            f"workload {workload.name!r} and strategy {strategy.name!r} both have a parameter {both[0]!r}; "
            "rename the workload's"
        )
    unknown = [key for key in given if key not in known and key not in workload.params]
    if unknown:
        names = [*_MARKER_ARGUMENTS, *known, *workload.params]
        raise UsageError(
            f"unknown argument {unknown[0]!r}.{did_you_mean(unknown[0], names)} "
            f"Known: {', '.join(_MARKER_ARGUMENTS)}; of the strategy: {', '.join(known) or 'none'}; "
            f"of the workload: {', '.join(workload.params) or 'none'}"
        )
    options = strategies.resolve_options(strategy, {key: given[key] for key in given if key in known})
    return dict(options), {key: given[key] for key in given if key in workload.params}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _replicas(value: object) -> tuple[int, ...]:
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if not values or not all(_is_count(count) for count in values) or len(set(values)) != len(values):
        raise UsageError(f"argument 'replicas' takes distinct whole numbers from 1, as in [1, 2, 4], not {value!r}")
    return tuple(cast("Sequence[int]", values))


def _fractions(name: str, value: object, replicas: tuple[int, ...], highest: float) -> dict[int, float]:
    """A number for every replica count, or a mapping by replica count."""
    if value is None:
        return {}
    by_count: Mapping[Any, Any] = value if isinstance(value, Mapping) else dict.fromkeys(replicas, value)
    for count, number in by_count.items():
        if count not in replicas:
            raise UsageError(f"argument {name!r} has a value for {count!r} replicas, which the marker does not measure")
        if not _is_number(number) or not 0 < number <= highest:
            raise UsageError(f"argument {name!r} takes a fraction such as 0.9 (90 %), not {number!r}")
    return {count: float(number) for count, number in by_count.items()}


def _slowdown(value: object, replicas: tuple[int, ...]) -> dict[int | str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(
            f"argument 'slowdown' maps a replica count or 'reference' to a fraction, as in {{4: 0.1}}, not {value!r}"
        )
    for arm, fraction in value.items():
        if arm != "reference" and arm not in replicas:
            raise UsageError(f"argument 'slowdown' names {arm!r}, which is no replica count here nor 'reference'")
        if not _is_number(fraction) or fraction < 0:
            raise UsageError(f"argument 'slowdown' takes fractions from 0, not {fraction!r}")
    return {arm: float(fraction) for arm, fraction in value.items()}


def _whole(name: str, value: object) -> int | None:
    if value is not None and not _is_count(value):
        raise UsageError(f"argument {name!r} takes a whole number from 1, not {value!r}")
    return cast("int | None", value)


def _positive(name: str, value: object) -> float | None:
    if value is not None and not (_is_number(value) and cast("float", value) > 0):
        raise UsageError(f"argument {name!r} takes a number above 0, not {value!r}")
    return None if value is None else float(cast("float", value))


def _variant(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum()):
        return value
    raise UsageError(f"argument 'variant' takes letters, digits, '-' and '_', as it names a file, not {value!r}")
