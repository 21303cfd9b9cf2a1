"""Which arms a suite measures, for `tfperf prune`: pytest collects, writes them to a file, and runs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_tfperf.fixtures import ARM


class Listing:
    """A plugin, registered under --tfperf-list."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._arms: list[dict[str, object]] = []

    @pytest.hookimpl(trylast=True)  # Ours, which knows what an item measures, comes before.
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Take every item, also those that -m or -k would leave out: they are tests of the suite all the same."""
        if ARM in item.stash:
            spec, replicas, _ = item.stash[ARM]
            self._arms.append(
                {"test": spec.test, "name": spec.baseline_name, "device": spec.device, "replicas": replicas}
            )

    def pytest_collection_finish(self) -> None:
        self._path.write_text(json.dumps({"arms": self._arms}))


def collect_only(config: pytest.Config) -> None:
    """Whatever the project's settings say about how tests are run: here none are."""
    for option, value in (("numprocesses", 0), ("maxfail", 0), ("collectonly", True)):
        if hasattr(config.option, option):
            setattr(config.option, option, value)
