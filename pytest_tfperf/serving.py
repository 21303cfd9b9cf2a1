"""The pytest that --tfperf-against starts: it collects, and then answers instead of running tests."""

from __future__ import annotations

import os
import socket

import pytest

from pytest_tfperf.against.protocol import Line
from pytest_tfperf.against.serve import Collected
from pytest_tfperf.cluster.process import die_with_parent
from pytest_tfperf.fixtures import ARM, SESSION


class Serving:
    """A plugin, registered under --tfperf-serve."""

    def __init__(self, descriptor: int) -> None:
        try:
            os.set_inheritable(descriptor, False)
            self._line = Line(socket.socket(fileno=descriptor))
        except OSError as error:
            raise pytest.UsageError(
                f"--tfperf-serve {descriptor}: not a socket ({error.strerror}); the option is for the pytest that "
                "--tfperf-against starts"
            ) from None
        self._problems: dict[str, str] = {}
        # The asking side ends, or is killed: then so do we, whatever is measured, and our supervisor ends the tasks.
        die_with_parent(os.getppid())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._problems[report.nodeid] = report.longreprtext

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        arms = []
        for item in session.items:
            if ARM in item.stash:
                spec, _, workload = item.stash[ARM]
                arms.append((spec, workload, item.get_closest_marker("skip") is not None))
        session.config.stash[SESSION].serve(Collected.of(arms, self._problems), self._line)
        return True


def collect_everything(config: pytest.Config) -> None:
    """Take back what the revision's own settings say about how tests are run: here none are."""
    for option, value in (("numprocesses", 0), ("maxfail", 0), ("collectonly", False)):
        if hasattr(config.option, option):
            setattr(config.option, option, value)
