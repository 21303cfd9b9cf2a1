"""The table of verdicts sorts and filters, by mouse and by keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from pytest_tfperf.report.document import SessionReport
from tests.browser.conftest import Open


def column(page: Page, name: str) -> list[str]:
    """Texts of the rows that are shown."""
    heads = [head.partition("\n")[0].strip() for head in page.locator("#table thead th").all_inner_texts()]
    return page.locator(f"#table tbody tr > :nth-child({heads.index(name) + 1})").all_inner_texts()


def head(page: Page, name: str) -> Locator:
    return page.locator("#table thead th", has_text=name)


def test_it_begins_with_what_needs_a_look(opened: Open, report: SessionReport) -> None:
    with opened(report) as seen:
        expect(head(seen.page, "Verdict")).to_have_attribute("aria-sort", "ascending")
        outcomes = [text.split()[-1] for text in column(seen.page, "Outcome")]
        assert len(outcomes) == len(report.cases)
        assert outcomes == sorted(outcomes, key=lambda text: text not in ("failed", "error"))
        expect(seen.page.locator("#shown")).to_have_text("52 of 52 shown")


def test_sorting_by_mouse(opened: Open, report: SessionReport) -> None:
    with opened(report) as seen:
        page = seen.page
        head(page, "Test").click()
        expect(head(page, "Test")).to_have_attribute("aria-sort", "ascending")
        up = column(page, "Test")
        head(page, "Test").click()
        expect(head(page, "Test")).to_have_attribute("aria-sort", "descending")
        assert column(page, "Test") == up[::-1] != up
        assert page.locator("#table [aria-sort]").count() == 1


def test_figures_sort_by_number(opened: Open, report: SessionReport) -> None:
    speed = {case.id: case.judgement.throughput.value if case.judgement else -1 for case in report.cases}
    with opened(report) as seen:
        head(seen.page, "T(N)").click()
        shown = [speed[name] for name in column(seen.page, "Test")]
        assert shown == sorted(shown)
        assert shown[0] == -1  # what has none comes first


def test_sorting_by_keyboard(opened: Open, report: SessionReport) -> None:
    with opened(report) as seen:
        page = seen.page
        button = head(page, "Replicas").get_by_role("button")
        for _ in range(60):
            page.keyboard.press("Tab")
            if button.evaluate("it => it === document.activeElement"):
                break
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(head(page, "Replicas")).to_have_attribute("aria-sort", "ascending")
        counts = list(map(int, column(page, "Replicas")))
        assert counts == sorted(counts)
        assert counts != counts[::-1]
        page.keyboard.press("Enter")
        expect(head(page, "Replicas")).to_have_attribute("aria-sort", "descending")
        assert list(map(int, column(page, "Replicas"))) == counts[::-1]


def test_filters_by_mouse(opened: Open, report: SessionReport) -> None:
    failed = sum(1 for case in report.cases if case.outcome == "failed")
    with opened(report) as seen:
        page = seen.page
        page.locator("select[data-field=outcome]").select_option("failed")
        expect(page.locator("#shown")).to_have_text(f"{failed} of 52 shown")
        assert {text.split()[-1] for text in column(page, "Outcome")} == {"failed"}
        page.locator("select[data-field=replicas]").select_option("1")
        assert set(column(page, "Replicas")) == {"1"}
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("#shown")).to_have_text("52 of 52 shown")
        assert page.locator("select[data-field=outcome]").input_value() == ""


def test_filters_by_keyboard(opened: Open, report: SessionReport) -> None:
    wanted = [case.id for case in report.cases if "canned7" in case.id]
    with opened(report) as seen:
        page = seen.page
        page.get_by_label("Search").focus()
        page.keyboard.type("canned7")
        expect(page.locator("#shown")).to_have_text(f"{len(wanted)} of 52 shown")
        assert sorted(column(page, "Test")) == sorted(wanted)
        page.keyboard.press("Control+A")
        page.keyboard.press("Delete")
        expect(page.locator("#shown")).to_have_text("52 of 52 shown")
        for word in ("regressed", "error"):
            button = page.get_by_role("button", name=word)
            button.focus()
            page.keyboard.press("Space")
            expect(button).to_have_attribute("aria-pressed", "true")
        words = {text.split()[-1] for text in column(page, "Verdict")}
        assert words == {"regressed", "error"}


def test_a_row_leads_to_its_measurements(opened: Open, report: SessionReport) -> None:
    passed = next(case for case in report.cases if case.outcome == "passed")
    with opened(report) as seen:
        page = seen.page
        page.get_by_label("Search").fill(passed.id)
        link = page.get_by_role("link", name=passed.id)
        section = page.locator("details.test", has=page.locator(str(link.get_attribute("href"))))
        section.evaluate("it => { it.open = false; }")
        link.focus()
        page.keyboard.press("Enter")
        expect(section).to_have_attribute("open", "")
        expect(section.locator(str(link.get_attribute("href")))).to_be_in_viewport()
