"""What of a session will be in vain whatever it measures: told before minutes are spent on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from pytest_tfperf.config import PerfConfig
from pytest_tfperf.errors import TfPerfError, UsageError
from pytest_tfperf.pacing import FEWEST, planned_rounds
from pytest_tfperf.records.arm import Sweep, SweepSpec
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.refusals import refused_anyway
from pytest_tfperf.units import first_of, plural

_FEWEST_AGAINST = 4
"""Rounds of two revisions without which Student's t has so wide a tail that it takes nearly all for noise."""
_TOLD = 3
"""Tests that are told one by one."""
_THAT_FAIL = (("--tfperf-require-baseline", "require_baseline"), ("--tfperf-strict", "strict"))
"""Options that fail a test without a baseline, and what holds them."""

Foreseen = Callable[[SweepSpec, int], "tuple[Verdict, str] | None"]
"""`no_baseline` or `incomparable`, and the reason, where an arm can be held against nothing."""


def check_baselines(config: PerfConfig) -> None:
    """See to it that the folder is there that a command line names, where tests are to be held against it.

    Raises:
        UsageError: it is not; with a slip of the keyboard all of them would pass.
    """
    if config.serve is None and config.baselines.exists() and not config.baselines.is_dir():
        raise UsageError(f"--tfperf-baselines (or tfperf_baselines): {config.baselines} is a file, and no folder")
    if config.save or config.against or config.smoke or config.serve is not None or not config.baselines_named:
        return
    if not os.path.isdir(config.baselines):
        raise UsageError(f"--tfperf-baselines: {config.baselines} is no folder; --tfperf-save makes it")


def in_vain(sweeps: Sequence[Sweep], config: PerfConfig, foreseen: Foreseen) -> list[str]:
    """What will not be saved, or not be held against anything, a sentence each."""
    if config.save or config.smoke:  # of a smoke run its user wants nothing judged
        return refused_anyway(sweeps, config)
    return [*_too_few_rounds(sweeps, config), *_not_comparable(sweeps, config, foreseen)]


def _too_few_rounds(sweeps: Sequence[Sweep], config: PerfConfig) -> list[str]:
    """Against a revision nothing is known of the noise but what the session's own rounds show."""
    enough = _FEWEST_AGAINST if config.against else FEWEST
    few = [sweep.spec.test for sweep in sweeps if planned_rounds(config, sweep.spec) < enough]
    if not few:
        return []
    what = "" if len(few) == len(sweeps) else f" in {first_of(few)}"
    if config.against:
        return [
            f"fewer than {enough} rounds show hardly any loss surely enough for an alarm{what}: against a revision the "
            "noise is known of these rounds alone"
        ]
    return [f"one round decides nothing{what}: one run says nothing of its noise, so a gate needs at least {FEWEST}"]


def _not_comparable(sweeps: Iterable[Sweep], config: PerfConfig, foreseen: Foreseen) -> list[str]:
    arms = [(sweep.spec, replicas) for sweep in sweeps for replicas in sweep.replicas]
    missing: dict[str, str] = {}
    otherwise: dict[tuple[str, str], list[int]] = {}
    for spec, replicas in arms:
        try:
            found = foreseen(spec, replicas)
        except TfPerfError:
            continue  # it is an error of that test
        if found is None:
            continue
        verdict, why = found
        if verdict is Verdict.NO_BASELINE:
            missing[f"{spec.test}[{replicas}]"] = why
        else:
            otherwise.setdefault((spec.test, why), []).append(replicas)
    lines = [
        f"{test}[{', '.join(map(str, counts))}] cannot be compared: the baseline {why}"
        for (test, why), counts in otherwise.items()
    ]
    if len(lines) > _TOLD:
        lines[_TOLD:] = [f"nor can {plural(len(lines) - _TOLD, 'other test')}"]
    fails = [option for option, on in _THAT_FAIL if getattr(config, on)]
    by = f", and {fails[0]} fails {'it' if len(missing) == 1 else 'them'}" if fails else ""
    if len(missing) == 1:
        lines += [f"{test}: {why}{by}" for test, why in missing.items()]
    elif missing:
        lines.append(
            f"{len(missing)} of {plural(len(arms), 'test')} have no baseline here{by}: {first_of(tuple(missing))}; "
            "--tfperf-save stores them"
        )
    return lines
