"""pytest items and reports as tfperf needs them: what an item measures, what it lacks, how its failure looks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_tfperf.errors import RegressionFailure, TfPerfError, UsageError
from pytest_tfperf.fixtures import ARM, CLOCK, SESSION
from pytest_tfperf.marker import check_device
from pytest_tfperf.measurement.clock import StepClock
from pytest_tfperf.measurement.gpus import no_gpu_reason, too_few_gpus, visible_gpus
from pytest_tfperf.records.arm import Device
from pytest_tfperf.records.comparison import Verdict
from pytest_tfperf.report.text import STYLES, Styled, failure_lines
from pytest_tfperf.report.view import ArmView

COLOURS: dict[Verdict, dict[str, bool]] = {verdict: dict.fromkeys(style, True) for verdict, style in STYLES.items()}


def device_of(node: pytest.Item) -> Device:
    """A test marked `gpu` or `multi_gpu` runs its replicas on GPUs, every other one on the CPU, GPUs or not."""
    marked = node.get_closest_marker("gpu") or node.get_closest_marker("multi_gpu")
    return "gpu" if marked else "cpu"


def sweep_key(item: pytest.Function) -> str:
    """The item's test without the replica count: the items that share one measurement share this."""
    others = {key: value for key, value in item.callspec.params.items() if key != "tfperf_replicas"}
    base = item.nodeid.partition("[")[0]
    return base + (f"[{', '.join(f'{key}={value}' for key, value in others.items())}]" if others else "")


def settle(items: Iterable[pytest.Item], *, measures: bool) -> None:
    """Decide on each item's device by all of its marks, and skip those that lack something here.

    A mark may come late: with a parameter set, or from a `conftest.py` that adds it to a folder. `measures`: this
    pytest is to measure them, so what their devices cannot do is an error now, before minutes are spent.

    Raises:
        UsageError: something is asked for that cannot be; one line for each test that is not skipped anyway.
    """
    wrong: dict[str, None] = {}
    for item in items:
        arm = item.stash.get(ARM, None)
        try:
            if arm is not None:
                spec, replicas, workload = arm
                item.stash[ARM] = (replace(spec, device=device_of(item)), replicas, workload)
                if measures and not is_skipped(item):
                    check_device(item.stash[ARM][0])
            reason = missing_gpus(item, None if arm is None else arm[1]) or missing_links(item)
        except UsageError as error:
            wrong[str(error)] = None
            continue
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
    if wrong:
        raise UsageError("\n".join(wrong))


def is_skipped(item: pytest.Item) -> bool:
    return item.get_closest_marker("skip") is not None


def missing_gpus(item: pytest.Item, replicas: int | None) -> str:
    """Why an item cannot run here, empty where it can; raises UsageError for a `multi_gpu` without a number."""
    if device_of(item) == "cpu":
        return ""
    needed = max(1, replicas or 1)
    for marker in item.iter_markers("multi_gpu"):
        given = marker.args[0] if marker.args else marker.kwargs.get("n")
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise UsageError(f"{item.nodeid}: @pytest.mark.multi_gpu takes the number of GPUs, as in multi_gpu(2)")
        needed = max(needed, given)
    return too_few_gpus(needed, visible_gpus(), no_gpu_reason())


def missing_links(item: pytest.Item) -> str:
    """Why the hosts of an item cannot have shaped links here, empty where they can or it needs none."""
    if ARM not in item.stash:
        return ""
    spec = item.stash[ARM][0]
    if not any(recipe.link for recipe in (spec.recipe, spec.versus) if recipe):
        return ""
    return item.config.stash[SESSION].launcher.links_unavailable()


def other_than_largest(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Items of another replica count than the largest of their test that can run here.

    None of a test that cannot run at all, so that it is skipped with its reason.
    """
    largest: dict[str, int] = {}
    measured = [(item, item.stash[ARM][0].test, item.stash[ARM][1]) for item in items if ARM in item.stash]
    for item, test, replicas in measured:
        if not is_skipped(item):
            largest[test] = max(largest.get(test, 0), replicas)
    return {item for item, test, replicas in measured if test in largest and replicas != largest[test]}


def add_benchmark_timer(item: pytest.Item) -> None:
    """Make pytest-benchmark read our clock for this item; what the user's own benchmark marker says is kept."""
    clock = StepClock()
    item.stash[CLOCK] = clock
    own = item.get_closest_marker("benchmark")
    kwargs: dict[str, Any] = dict(own.kwargs) if own else {}
    item.add_marker(pytest.mark.benchmark(**{**kwargs, "timer": clock}), append=False)


class FailureRepr(TerminalRepr):
    """A failure as lines of text, coloured where the terminal has colours; no traceback, since none would help."""

    def __init__(self, lines: list[Styled], headline: str, item: pytest.Item) -> None:
        path, line, _ = item.location
        self.lines = lines
        self.reprcrash = ReprFileLocation(path, (line or 0) + 1, headline)

    @classmethod
    def of(cls, error: BaseException, item: pytest.Item) -> FailureRepr | None:
        """None for an error that is not one of this package: pytest shows it as ever."""
        if isinstance(error, RegressionFailure) and isinstance(error.view, ArmView):
            return cls(list(failure_lines(error.view)), error.view.headline, item)
        if isinstance(error, TfPerfError):
            text = str(error)
            return cls([(line, None) for line in text.splitlines()], text.partition("\n")[0], item)
        return None

    def toterminal(self, tw: TerminalWriter) -> None:
        for line, verdict in self.lines:
            tw.line(line, **(COLOURS[verdict] if verdict else {}))
