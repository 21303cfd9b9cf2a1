"""pytest hooks, a few lines each."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from pytest_tfperf import handover, listing, options, recording
from pytest_tfperf import marker as markers
from pytest_tfperf.durations import sound
from pytest_tfperf.errors import TfPerfError, UsageError
from pytest_tfperf.fixtures import ARM, SESSION, WithBenchmark, WithoutBenchmark, tf_cluster, tfperf, tfperf_replicas
from pytest_tfperf.foreseen import check_baselines
from pytest_tfperf.items import (
    COLOURS,
    FailureRepr,
    add_benchmark_timer,
    device_of,
    is_skipped,
    other_than_largest,
    settle,
    sweep_key,
)
from pytest_tfperf.report.progress import TerminalProgress
from pytest_tfperf.report.text import not_run, summary_lines, tally, unchecked
from pytest_tfperf.serving import Serving, collect_everything
from pytest_tfperf.session import PerfSession
from pytest_tfperf.workloads import registry

__all__ = ["tf_cluster", "tfperf", "tfperf_replicas"]


_DURATIONS = "tfperf/durations"
"""Key of pytest's cache, which is of this machine."""


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    handover.note_project_options(early_config, parser, args)


@pytest.hookimpl(wrapper=True)  # Before pytest-xdist starts its workers.
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    if config.option.tfperf_serve is not None:
        collect_everything(config)
    if config.option.tfperf_list is not None:
        listing.collect_only(config)
    return (yield)


@pytest.hookimpl(trylast=True)  # The terminal reporter and pytest-benchmark must be there.
def pytest_configure(config: pytest.Config) -> None:
    options.add_markers(config)
    capture = config.pluginmanager.getplugin("capturemanager")
    uncaptured = capture.global_and_fixture_disabled if capture else nullcontext
    progress = TerminalProgress(config.pluginmanager.getplugin("terminalreporter"), uncaptured)
    try:
        config.stash[SESSION] = PerfSession(options.perf_config(config), progress)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    has_benchmark = config.pluginmanager.hasplugin("benchmark")
    config.pluginmanager.register(WithBenchmark() if has_benchmark else WithoutBenchmark())
    if config.option.tfperf_serve is not None:
        config.stash[SESSION].begin()
        config.pluginmanager.register(Serving(config.option.tfperf_serve))
    if config.option.tfperf_list is not None:
        config.pluginmanager.register(listing.Listing(config.option.tfperf_list))


def pytest_unconfigure(config: pytest.Config) -> None:
    if SESSION in config.stash:
        config.stash[SESSION].close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per replica count of a tfperf marker."""
    marker = metafunc.definition.get_closest_marker("tfperf")
    if marker is None:
        return
    test = metafunc.definition.nodeid
    # One of its class or module is another matter: the function's own takes its place.
    if sum(mark.name == "tfperf" for mark in metafunc.definition.own_markers) > 1:
        raise pytest.Collector.CollectError(
            f"{test}: has two markers tfperf, of which only the nearest would be measured; write a test for each"
        )
    try:
        spec = markers.sweep_spec(marker, test, device_of(metafunc.definition))
    except UsageError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    if "tfperf_replicas" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{test}: marked tfperf, but does not use the fixture 'tfperf', so nothing would be measured"
        )
    metafunc.parametrize("tfperf_replicas", spec.replicas, ids=[str(count) for count in spec.replicas])


def pytest_itemcollected(item: pytest.Item) -> None:
    marker = item.get_closest_marker("tfperf")
    if marker is None or not isinstance(item, pytest.Function):
        return
    replicas = item.callspec.params.get("tfperf_replicas") if hasattr(item, "callspec") else None
    if not isinstance(replicas, int):  # A marker on one parameter set comes too late; the fixture says so.
        return
    spec = replace(markers.sweep_spec(marker, item.nodeid, device_of(item)), test=sweep_key(item))
    item.stash[ARM] = (spec, replicas, registry.get(marker.args[0]))
    if item.config.pluginmanager.hasplugin("benchmark"):
        add_benchmark_timer(item)


@pytest.hookimpl(trylast=True)  # What -m and -k deselect needs no devices.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    worker = hasattr(config, "workerinput")
    # Who lists, serves or is a worker of pytest-xdist measures none of this here.
    measures = not (worker or config.option.tfperf_list is not None or config.option.tfperf_serve is not None)
    try:
        settle(items, measures=measures)
    except UsageError as error:
        if worker:  # it could say so in an internal error only, and each test says that nothing is measured there
            return
        items.clear()  # pytest goes on to say how long they would take
        raise pytest.UsageError(str(error)) from None
    if config.option.tfperf_largest:
        others = other_than_largest(items)
        config.hook.pytest_deselected(items=[item for item in items if item in others])
        items[:] = [item for item in items if item not in others]


def pytest_collection_finish(session: pytest.Session) -> None:
    recording.expect(session.items)
    if hasattr(session.config, "workerinput"):  # nothing is measured there, as each test says
        return
    arms = [item.stash[ARM][:2] for item in session.items if ARM in item.stash and not is_skipped(item)]
    perf = session.config.stash[SESSION]
    measures = arms and not session.config.option.collectonly
    try:
        # Who serves measures what is asked for: whether tests share a baseline is the other side's business.
        perf.plan(arms if perf.config.serve is None else ())
        if measures:
            check_baselines(perf.config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if measures:
        perf.begin()
        if perf.config.against:
            handover.check_revision(session.config)
        perf.take_turn()
        if perf.config.against:
            handover.oppose(session)
        try:
            perf.launcher.warm_up()
        except TfPerfError as error:
            raise pytest.UsageError(str(error)) from None
        if perf.config.serve is None:
            perf.announce(_history(session.config))


def _history(config: pytest.Config) -> dict[str, Any]:
    """What earlier sessions took; empty where pytest keeps no cache, or somebody else's is there."""
    cache = getattr(config, "cache", None)
    try:
        known = cache.get(_DURATIONS, {}) if cache is not None else {}
    except RecursionError:  # of all that may be wrong with the file, pytest does not catch this
        known = {}
    return sound(known)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    recording.finish(session, exitstatus)
    cache = getattr(session.config, "cache", None)
    if cache is not None and session.config.stash[SESSION].config.serve is None:
        before = _history(session.config)
        after = session.config.stash[SESSION].took(before)
        if after != before:
            cache.set(_DURATIONS, after)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show our failures as their table, and save the baselines of tests that passed."""
    report = yield
    if call.excinfo is not None and report.failed:
        report.longrepr = FailureRepr.of(call.excinfo.value, item) or report.longrepr
    if call.when == "call" and ARM in item.stash and not report.skipped and item.config.stash[SESSION].config.save:
        try:
            item.config.stash[SESSION].save(*item.stash[ARM][:2], passed=report.passed)
        except TfPerfError as error:
            if report.passed:
                report.outcome, report.longrepr = "failed", FailureRepr.of(error, item)
    if ARM in item.stash and isinstance(report.longrepr, FailureRepr):
        # pytest says why at its end, which may be an hour away, or never come where something ends it from outside.
        item.config.stash[SESSION].progress.line(f"  failed: {report.longrepr.reprcrash.message}")
    recording.note(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """One line an arm, what the suspects add up to, then what was saved and what was refused."""
    perf = config.stash[SESSION]
    if perf.config.keep_logs and perf.launcher.run_dir:
        terminalreporter.write_line(f"tfperf: the logs of all tasks are in {perf.launcher.run_dir}")
    if perf.other_logs:
        terminalreporter.write_line(f"tfperf: those of {perf.config.against} are in {perf.other_logs}")
    for written in config.stash.get(recording.WRITTEN, ()):
        terminalreporter.write_line(f"tfperf: {written.text}", red=written.failed)
    terminalreporter.ensure_newline()
    for annotation in config.stash.get(recording.ANNOTATIONS, ()):
        terminalreporter.write_line(annotation)  # uncoloured: GitHub looks for it at the start of a line
    meant = exitstatus != pytest.ExitCode.USAGE_ERROR and not config.option.collectonly
    left = [case.id for case in perf.cases if meant and case.outcome == "not run"]
    if not perf.results.views:
        if left:
            terminalreporter.write_line(f"tfperf: {not_run(left)}", yellow=True)
        return
    terminalreporter.section("tfperf")
    for line, verdict in summary_lines(perf.results.views, details=config.option.verbose > 0):
        terminalreporter.write_line(line, **(COLOURS[verdict] if verdict else {}))
    for text in perf.results.findings:
        terminalreporter.write_line(text)
    terminalreporter.write_line(tally(view.verdict for view in perf.results.views))
    if perf.results.left_open:
        terminalreporter.write_line(f"--tfperf-strict would fail {tally(perf.results.left_open)}", yellow=True)
    if perf.unchecked:
        terminalreporter.write_line(unchecked(perf.unchecked), red=True)
    if left:
        terminalreporter.write_line(not_run(left), yellow=True)
    if str(perf.duration):
        terminalreporter.write_line(str(perf.duration))
    for saved in perf.saved:
        colour = "yellow" if saved.seems_slower else "green"
        terminalreporter.write_line(f"saved {saved}", **{colour: True})
        if saved.noise:
            terminalreporter.write_line(f"    {saved.noise}", yellow=saved.is_doubtful)
