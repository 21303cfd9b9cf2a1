"""The history's page in a browser: its charts draw, in either scheme, and it asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from pytest_tfperf.history.page import PageHead, to_page
from tests.browser.conftest import Open
from tests.unit.history.test_page import EVIL, arms


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "history.html"
    path.write_text(
        to_page([*arms(), *arms(EVIL, EVIL)], PageHead("perf.db", "2026-11-01", "2 arms")), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_draws_its_nights(opened: Open, page: Path, scheme: str) -> None:
    with opened(page, color_scheme=scheme) as seen:
        charts = seen.page.locator(".chart")
        assert charts.count() == 6
        for chart in charts.all():
            chart.scroll_into_view_if_needed()
            chart.and_(seen.page.locator("[data-state=drawn]")).wait_for()
            assert chart.locator("svg .mark-symbol path").count() == 40
        throughput = charts.nth(1)
        # two levels, and the change between them
        assert throughput.locator("svg .role-mark.mark-rule line").count() == 3
        assert charts.nth(0).locator("svg .role-mark.mark-rule line").count() == 1
        box = throughput.locator("svg.marks").bounding_box()
        assert box is not None
        assert box["width"] > 500
        throughput.locator("svg .mark-symbol path").nth(5).hover(force=True)
        seen.page.locator("#vg-tooltip-element.visible", has_text="2026-09-06").wait_for()
        seen.page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
        throughput.locator("svg .mark-symbol path").nth(5).wait_for()


def test_text_from_outside_does_not_run(opened: Open, page: Path) -> None:
    with opened(page) as seen:
        assert seen.page.locator("h3").nth(1).inner_text().startswith(EVIL)
        assert seen.page.evaluate("document.scripts.length") == 3


def test_all_charts_are_drawn_for_paper(opened: Open, page: Path) -> None:
    with opened(page) as seen:
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        for chart in seen.page.locator(".chart").all():
            chart.and_(seen.page.locator("[data-state=drawn]")).wait_for()


def test_it_can_be_read_by_everybody(opened: Open, page: Path) -> None:
    with opened(page) as seen:
        seen.page.locator(".chart[data-state=drawn]").first.wait_for()
        # axe is put into the page, which its policy forbids to a page's own scripts alone
        found = Axe().run(seen.page)
        assert found.violations_count == 0, found.generate_report()


def test_a_phone_scrolls_no_page_sideways(opened: Open, page: Path) -> None:
    with opened(page, viewport={"width": 360, "height": 700}) as seen:
        seen.page.locator(".chart[data-state=drawn]").first.wait_for()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
