"""A real browser, and pages whose every error and request is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from benchmarks.canned_report import canned_report
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.html import to_html
from tools.browser import launch


@dataclass
class Opened:
    """A page in a browser, and what it did beside showing itself."""

    page: Page
    path: Path
    errors: list[str] = field(default_factory=list)
    """Uncaught exceptions, and errors and warnings of the console."""
    requests: list[str] = field(default_factory=list)
    """All but the first, which is for the page itself."""

    def charts(self, kind: str = "") -> None:
        """Open everything and wait until all charts are drawn."""
        self.page.locator("#open-all").click()
        for chart in self.page.locator(f".chart{kind and '.' + kind}").all():
            chart.scroll_into_view_if_needed()
            chart.and_(self.page.locator("[data-state=drawn]")).wait_for()


Open = Callable[..., AbstractContextManager[Opened]]
"""Opens a report, or a file; keywords are those of a Playwright context."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launch(playwright)  # raises where there is none: these tests are not to be missed unseen
        yield found
        found.close()


@pytest.fixture
def watched(browser: Browser, tmp_path: Path) -> Open:
    """Open a page and watch it; what it does is up to the test."""

    @contextmanager
    def opened(what: SessionReport | Path, **options: Any) -> Iterator[Opened]:
        path = what if isinstance(what, Path) else tmp_path / "report.html"
        if not isinstance(what, Path):
            path.write_text(to_html(what), encoding="utf-8")
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        context.set_default_timeout(60_000)
        page = context.new_page()
        seen = Opened(page, path)

        def console(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                seen.errors.append(message.text)

        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("console", console)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(path.as_uri())
        assert seen.requests.pop(0) == path.as_uri()
        yield seen
        context.close()

    return opened


@pytest.fixture
def opened(watched: Open) -> Open:
    """Open a page that must not throw, complain or ask for anything."""

    @contextmanager
    def quietly(what: SessionReport | Path, **options: Any) -> Iterator[Opened]:
        with watched(what, **options) as seen:
            yield seen
            assert seen.errors == []
            assert seen.requests == []

    return quietly


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> SessionReport:
    """Of every kind of outcome."""
    return canned_report(tmp_path_factory.mktemp("session"), 52)
