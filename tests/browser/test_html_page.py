"""The page draws, in either scheme, on a phone, on paper, without scripts, and asks for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from benchmarks.canned_report import canned_report
from pytest_tfperf.report.document import SessionReport
from tests.browser.conftest import Open
from tests.unit.report.hostile import HOSTILE, eventful, hostile

KINDS = ("scaling", "efficiency", "runs", "steps")


@pytest.fixture(scope="module")
def few(report: SessionReport) -> SessionReport:
    """Two sweeps: one that regressed, one of which an arm was lost."""
    chosen = [sweep for sweep in report.sweeps if sweep.test.endswith(("canned1", "canned7"))]
    tests = {sweep.test for sweep in chosen}
    return replace(report, sweeps=tuple(chosen), cases=tuple(case for case in report.cases if case.test in tests))


def marks(page: Page, kind: str, shape: str) -> int:
    """How many marks of this shape the first chart of its kind has."""
    return page.locator(f".chart.{kind}").first.locator(f"svg .mark-{shape} path").count()


def test_every_chart_draws_its_data(opened: Open, few: SessionReport) -> None:
    sweep = next(sweep for sweep in few.sweeps if sweep.test.endswith("canned1"))
    runs = sum(len(arm.runs) for arm in sweep.arms)
    ranks = sum(len(arm.runs[0].tasks) for arm in sweep.arms)
    with opened(few) as seen:
        seen.charts()
        page = seen.page
        assert page.locator(".chart").count() == 2 * len(KINDS)
        assert marks(page, "scaling", "symbol") == 8  # four counts, now and in the baseline
        assert page.locator(".chart.scaling").first.locator("svg .mark-line path").count() == 4  # and ideal, and floor
        assert marks(page, "efficiency", "rect") >= 4
        assert marks(page, "runs", "symbol") == runs
        assert marks(page, "steps", "symbol") == ranks
        for kind in KINDS:
            chart = page.locator(f".chart.{kind}").first
            expect(chart).to_have_attribute("role", "img")
            assert chart.locator(".key li").count() >= 2
            box = chart.locator("svg.marks").bounding_box()
            assert box is not None
            assert box["width"] > 200
            assert box["height"] > 100


def test_all_that_a_sweep_can_hold_is_drawn(opened: Open, report: SessionReport) -> None:
    rare = eventful(report, "canned1")
    sweep = rare.sweeps[0]
    with opened(rare) as seen:
        seen.charts()
        assert seen.page.locator(".chart[data-state=drawn]").count() == len(KINDS)
        assert seen.page.locator(".chart.scaling .key li").all_inner_texts()[2] == "versus ps_async"
        assert marks(seen.page, "scaling", "symbol") == 9
        assert marks(seen.page, "runs", "symbol") == sum(len(arm.runs) + len(arm.against) for arm in sweep.arms)
        expect(seen.page.locator(".chart.runs .key")).to_contain_text("hollow: disturbed")


def test_charts_wait_until_they_are_near(opened: Open, report: SessionReport) -> None:
    with opened(report) as seen:
        page = seen.page
        closed = page.locator("details.test:not([open])").last
        assert closed.locator("[data-state]").count() == 0
        closed.locator("> summary").focus()
        page.keyboard.press("Enter")
        closed = page.locator("details.test").last
        closed.locator(".chart[data-state=drawn]").first.wait_for()
        undrawn = page.locator("details.test:not([open]) .chart")
        assert undrawn.count() > 0
        assert undrawn.and_(page.locator("[data-state]")).count() == 0


def test_open_and_close_all(opened: Open, report: SessionReport) -> None:
    with opened(report) as seen:
        tests, opened_tests = seen.page.locator("details.test"), seen.page.locator("details.test[open]")
        assert 0 < opened_tests.count() < tests.count()
        seen.page.get_by_role("button", name="Open all").click()
        assert opened_tests.count() == tests.count()
        seen.page.get_by_role("button", name="Close all").click()
        assert opened_tests.count() == 0


def test_hostile_text_does_not_run(opened: Open, few: SessionReport) -> None:
    spoilt = hostile(few)
    with opened(spoilt) as seen:
        seen.charts()
        page = seen.page
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert page.locator("h1").inner_text().startswith(f"{few.tally}</script>")
        assert HOSTILE[:40] in page.locator(".chart.scaling").first.inner_text()
        # A tooltip shows it too, as text.
        point = page.locator(".chart.scaling").first.locator("svg .mark-symbol path").first
        point.scroll_into_view_if_needed()
        box = point.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(page.locator("#vg-tooltip-element.visible")).to_be_visible()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0


def test_the_policy_forbids_connections(watched: Open, few: SessionReport) -> None:
    with watched(few) as seen:
        failures: list[str | None] = []
        seen.page.on("requestfailed", lambda request: failures.append(request.failure))
        refused = seen.page.evaluate("fetch('https://example.org/').then(() => '', error => String(error))")
        assert "TypeError" in refused
        seen.page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.added = 1' }))"
        )
        assert seen.page.evaluate("window.added") is None
        with seen.page.expect_event("requestfailed"):
            seen.page.evaluate("document.body.append(Object.assign(new Image(), { src: 'https://example.org/a.png' }))")
        assert seen.requests == ["https://example.org/a.png"]  # asked for, and never sent
        assert failures == ["csp"]
        assert any("Content Security Policy" in error for error in seen.errors)


def test_what_watches_can_tell(watched: Open, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<img src='missing.png'><script>missing()</script>")
    with watched(page) as seen:
        seen.page.wait_for_load_state()
        assert seen.requests == [(tmp_path / "missing.png").as_uri()]
        assert any("missing is not defined" in error for error in seen.errors)


def test_dark_scheme(opened: Open, few: SessionReport) -> None:
    def ground_and_text(page: Page) -> tuple[str, str]:
        body = page.locator("body").evaluate("it => getComputedStyle(it).backgroundColor")
        label = page.locator(".chart.scaling svg .role-axis-label text").first
        return body, label.evaluate("it => getComputedStyle(it).fill")

    with opened(few, color_scheme="dark") as seen:
        seen.charts("scaling")
        dark = ground_and_text(seen.page)
        seen.page.emulate_media(color_scheme="light")
        light = ground_and_text(seen.page)
    assert dark == ("rgb(15, 19, 24)", "rgb(165, 175, 187)")
    assert light == ("rgb(255, 255, 255)", "rgb(80, 88, 98)")


def test_a_phone_does_not_scroll_sideways(opened: Open, few: SessionReport) -> None:
    with opened(few, viewport={"width": 360, "height": 740}, device_scale_factor=2, is_mobile=True) as seen:
        seen.charts()
        for box in seen.page.locator("details.test details > summary").all():
            box.click()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
        wide = seen.page.locator(".table-box.tall")
        assert wide.evaluate("it => it.scrollWidth > it.clientWidth")


def test_print_has_everything(opened: Open, few: SessionReport) -> None:
    with opened(few, color_scheme="dark") as seen:
        page = seen.page
        page.get_by_role("button", name="Close all").click()
        page.emulate_media(media="print", color_scheme="dark")
        page.wait_for_function("[...document.querySelectorAll('.chart')].every(it => it.dataset.state === 'drawn')")
        assert page.locator("details:not([open]):not(.data)").count() == 0
        for control in page.locator(".controls, .skip, button").all():
            expect(control).to_be_hidden()
        assert page.locator("body").evaluate("it => getComputedStyle(it).backgroundColor") == "rgb(255, 255, 255)"
        page.emulate_media(media="screen")
        expect(page.locator("details.test[open]")).to_have_count(0)


def test_a_printed_file_draws_charts_first(opened: Open, few: SessionReport) -> None:
    with opened(few) as seen:
        seen.page.get_by_role("button", name="Close all").click()
        first = seen.page.pdf()
        assert first.startswith(b"%PDF")
        drawn = seen.page.pdf()  # by now they are, whenever that was
        seen.page.evaluate("document.querySelectorAll('.chart svg').forEach(it => it.remove())")
        without = seen.page.pdf()
        assert len(first) > 0.97 * len(drawn)
        assert len(without) < 0.9 * len(drawn)


def test_without_scripts_it_can_be_read(opened: Open, few: SessionReport) -> None:
    with opened(few, java_script_enabled=False) as seen:
        page = seen.page
        expect(page.locator("#table tbody tr")).to_have_count(len(few.cases))
        expect(page.locator("#search")).to_be_hidden()
        assert "need JavaScript" in str(page.locator("noscript").text_content())
        page.get_by_text("Scaling as a table").first.click()
        expect(page.locator("details.data table").first).to_be_visible()


def test_sessions_with_little_to_show(opened: Open, report: SessionReport, tmp_path: Path) -> None:
    with opened(replace(report, cases=(), sweeps=(), places={}, tally="")) as seen:
        expect(seen.page.locator("html")).to_have_attribute("data-ready", "yes")
    skipped = [case for case in report.cases if case.outcome == "skipped"]
    with opened(replace(report, cases=tuple(skipped), sweeps=())) as seen:
        expect(seen.page.locator("#table tbody tr")).to_have_count(1)
    with opened(canned_report(tmp_path, 4, rounds=1)) as seen:
        seen.charts()
        assert marks(seen.page, "runs", "symbol") == 5


def test_accessibility(opened: Open, few: SessionReport) -> None:
    with opened(few) as seen:
        seen.charts()
        for box in seen.page.locator("details.test details > summary").all():
            box.click()
        for scheme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=scheme)
            found = Axe().run(seen.page)
            assert found.response["violations"] == [], f"{scheme}: {found.generate_report()}"
            assert len(found.response["passes"]) > 20  # it did look
