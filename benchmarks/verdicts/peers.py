"""The rules that other tools decide by, each as its tool is used, and each asked the same: is it slower now.

Every rule is asked about T(1) and T(2), and a gate raises an alarm where either is called slower. Rules that also fire
where something got faster (TorchBench, Megatron) are counted only where it got slower, in their favour. The rule's own
code decides where the tool installs as a package; the others are written here in a few lines, with their source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from typing import Any

import numpy as np

from benchmarks.verdicts.gates import ARMS, Bools, Floats, Gates

OTAVA_NIGHTS = 10
"""Fewest nights of history for Otava: with fewer it may call the second value a change."""
_TORCHBENCH_BAND = 0.07
_MEGATRON_RTOL = 0.05
_UTEST_ALPHA = 0.05
_ASV_FACTOR = 1.1


def pytest_benchmark_slower(before: Sequence[float], now: Sequence[float]) -> bool:
    """`--benchmark-compare-fail=mean:5%` on the mean over runs, by pytest-benchmark's own check."""
    current, compared = ({"mean": sum(values) / len(values)} for values in (now, before))
    return _pytest_benchmark_check().fails(current, compared) is not None


@cache
def _pytest_benchmark_check() -> Any:
    return import_module("pytest_benchmark.utils").parse_compare_fail("mean:5%")


def asv_slower(before: Sequence[float], now: Sequence[float]) -> bool:
    """`asv compare` at its default factor on a sample per run, by asv's own code.

    Its rule is: slower by the factor *and* different. The factor is asked first, since it is quick and usually decides.
    """
    worse = import_module("asv.commands.compare")._is_result_better
    statistics = import_module("asv_runner.statistics")
    medians = [statistics.quantile(values, 0.5) for values in (before, now)]
    if not worse(*medians, None, None, _ASV_FACTOR):
        return False
    (old, old_stats), (new, new_stats) = (statistics.compute_stats(list(values), 1) for values in (before, now))
    return bool(worse(old, new, (old_stats, list(before)), (new_stats, list(now)), _ASV_FACTOR))


def otava_slower(nights: Sequence[float]) -> bool:
    """Whether Otava's detector, at its defaults, puts a change to a longer time on the last night."""
    found, _ = import_module("otava.analysis").compute_change_points(list(nights))
    return any(point.index == len(nights) - 1 and point.stats.mean_2 > point.stats.mean_1 for point in found)


def google_benchmark_slower(before: Floats, now: Floats) -> Bools:
    """google/benchmark's U test on pooled steps, for each row of [cases, steps].

    `calc_utest` and `utest_alpha` of tools/gbench/report.py (github.com/google/benchmark at 058fb588): two-sided
    Mann-Whitney U, different where p < 0.05. The tool leaves it to the reader which way; here the medians say.
    """
    from scipy.stats import mannwhitneyu

    p = mannwhitneyu(before, now, axis=1, alternative="two-sided").pvalue
    slower: Bools = (p < _UTEST_ALPHA) & (np.median(now, axis=1) > np.median(before, axis=1))
    return slower


def torchbench_slower(before: Floats, now: Floats) -> Bools:
    """One value against one value: userbenchmark/torch-nightly/regression_detector.py of pytorch/benchmark."""
    slower: Bools = (now - before) / before > _TORCHBENCH_BAND
    return slower


def megatron_slower(golden: Floats, actual: Floats) -> Bools:
    """The median of one run's steps against the stored run's, [cases, steps], within a relative tolerance of 5 %.

    `pipeline` for "iteration-time" in tests/functional_tests/python_test_utils/common.py and `CHECK_THRESHOLDS` in
    test_pretraining_regular_pipeline.py, github.com/NVIDIA/Megatron-LM.
    """
    old, new = np.median(golden, axis=1), np.median(actual, axis=1)
    slower: Bools = ~np.isclose(new, old, rtol=_MEGATRON_RTOL, atol=0) & (new > old)
    return slower


@dataclass(frozen=True)
class Peer:
    """A tool's rule, given what it is given in practice."""

    name: str
    rule: str
    package: str | None
    """The package whose own code decides; None where the rule is written here."""
    alarms: Callable[[Gates], Bools]
    """For each gate, whether either arm is called slower."""
    judges: Callable[[Gates], Bools] = lambda gates: np.ones(len(gates), dtype=bool)
    """For each gate, whether the tool can judge it at all."""
    slow: bool = False
    """True where a gate takes it milliseconds, so that it is given only the first gates of a setting."""

    @property
    def version(self) -> str:
        return f"own code, {metadata.version(self.package)}" if self.package else "written here after its source"


def _per_run(slower: Callable[[Sequence[float], Sequence[float]], bool]) -> Callable[[Gates], Bools]:
    """Ask a rule that takes one value per run, about each arm of each gate."""

    def alarms(gates: Gates) -> Bools:
        before, now = gates.newest.tolist(), gates.now.tolist()
        return np.array([any(map(slower, zip(*old), zip(*new))) for old, new in zip(before, now)], dtype=bool)

    return alarms


def _pooled(steps: Floats, arm: int) -> Floats:
    """Of each gate the steps of all its runs: [gates, rounds x steps]."""
    return steps[..., arm].reshape(len(steps), -1)


def _otava(gates: Gates) -> Bools:
    new = gates.now.mean(axis=1)
    return np.array(
        [
            len(nights) >= OTAVA_NIGHTS and any(otava_slower([*nights[:, arm], value[arm]]) for arm in range(ARMS))
            for nights, value in zip(gates.history, new)
        ],
        dtype=bool,
    )


def _any_arm(slower: Callable[[Gates, int], Bools]) -> Callable[[Gates], Bools]:
    def alarms(gates: Gates) -> Bools:
        found: Bools = slower(gates, 0) | slower(gates, 1)
        return found

    return alarms


PEERS = (
    Peer(
        "pytest-benchmark",
        "mean over runs, `--benchmark-compare-fail=mean:5%`",
        "pytest-benchmark",
        _per_run(pytest_benchmark_slower),
    ),
    Peer(
        "google/benchmark",
        "U test on the steps of all runs, p < 0.05",
        None,
        _any_arm(
            lambda gates, arm: google_benchmark_slower(_pooled(gates.saved_steps, arm), _pooled(gates.now_steps, arm))
        ),
    ),
    Peer("asv", "median over runs, factor 1.1 and U test", "asv", _per_run(asv_slower)),
    Peer(
        "TorchBench",
        "one run against one run, 7 %",
        None,
        _any_arm(lambda gates, arm: torchbench_slower(gates.newest[:, -1, arm], gates.now[:, 0, arm])),
    ),
    Peer(
        "Megatron-LM",
        "median step of one run against one run's, 5 %",
        None,
        _any_arm(
            lambda gates, arm: megatron_slower(gates.saved_steps[:, -1, :, arm], gates.now_steps[:, 0, :, arm]),
        ),
    ),
    Peer(
        "Otava",
        "change point on the last of 31 nights",
        "apache-otava",
        _otava,
        judges=lambda gates: np.array([len(nights) >= OTAVA_NIGHTS for nights in gates.history], dtype=bool),
        slow=True,
    ),
)


def missing_packages() -> list[str]:
    """Packages of peers that are not installed here."""
    missing = []
    for peer in PEERS:
        try:
            _ = peer.version
        except metadata.PackageNotFoundError:
            missing.append(str(peer.package))
    return missing
