"""What each writer takes for a session of so many arms, and how quick a browser is with the page; exits with 1 if slow.

    python -m benchmarks.report_writers [--arms 500] [--report FILE.json] [--keep FOLDER] [--no-browser]

The session is that of `benchmarks.canned_report`, or one from a file. A writer's time is the least of three, on the
clock; its first, which imports what it needs, is shown too. Of the HTML page is told how long Chromium takes from the
start of the navigation until its table can be sorted, and then to sort and to filter it: medians of three starts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.canned_report import canned_report
from pytest_tfperf.report.document import SessionReport
from pytest_tfperf.report.json_file import read_json
from pytest_tfperf.units import format_bytes, format_seconds

REPEATS = 3
BAR_INTERACTIVE = 2.0
"""Seconds from the start of the navigation until the table can be sorted."""


_UNTIL_DRAWN = """selector => new Promise(resolve => {
  const start = performance.now();
  const watcher = new MutationObserver(() => requestAnimationFrame(() => resolve(performance.now() - start)));
  watcher.observe(document.querySelector("#table tbody"), { childList: true });
  document.querySelector(selector).click();
})"""
"""Milliseconds from a click until the table has other rows, and the browser is about to paint them."""


@dataclass(frozen=True)
class Writer:
    """One of the formats, and its bars."""

    name: str
    write: Callable[[SessionReport], bytes]
    seconds: float
    size: float
    """Bytes."""


def _json(report: SessionReport) -> bytes:
    from pytest_tfperf.report.json_file import to_json

    return to_json(report)


def _html(report: SessionReport) -> bytes:
    from pytest_tfperf.report.html import to_html

    return to_html(report).encode()


def _markdown(report: SessionReport) -> bytes:
    from pytest_tfperf.report.markdown import to_markdown

    return to_markdown(report).encode()


def _tensorboard(report: SessionReport) -> bytes:
    from pytest_tfperf.report.tensorboard import write_events

    with tempfile.TemporaryDirectory(prefix="events-") as folder:
        write_events(report, Path(folder))
        return b"".join(file.read_bytes() for file in Path(folder).rglob("*") if file.is_file())


def _history(report: SessionReport) -> bytes:
    from pytest_tfperf.history import append

    with tempfile.TemporaryDirectory(prefix="history-") as folder:
        file = Path(folder) / "history.db"
        append(report, f"sqlite:///{file}")
        return file.read_bytes()


WRITERS = (
    Writer("json", _json, 5.0, 20e6),
    Writer("html", _html, 5.0, 8e6),
    Writer("markdown", _markdown, 5.0, 1e6),
    Writer("tensorboard", _tensorboard, 5.0, 20e6),
    Writer("history", _history, 5.0, 20e6),
)
BAR_ALL = 5.0
"""Seconds for all of them, each for the first time."""


def measured(writer: Writer, report: SessionReport, file: Path) -> tuple[bool, float]:
    """Write three times and tell; whether the bars are met, and the seconds of the first time."""
    times, data = [], b""
    for _ in range(REPEATS):
        start = time.perf_counter()
        data = writer.write(report)
        times.append(time.perf_counter() - start)
    file.write_bytes(data)
    met = min(times) <= writer.seconds and len(data) <= writer.size
    print(
        f"{writer.name:12}{format_seconds(min(times)):>10}{format_seconds(times[0]):>10}{format_bytes(len(data)):>10}  "
        f"at most {format_seconds(writer.seconds)}, {format_bytes(writer.size)}{'' if met else '   MISSED'}"
    )
    return met, times[0]


def browsed(file: Path) -> bool:
    """Open the page in Chromium and tell; False where it is not interactive soon enough."""
    from playwright.sync_api import sync_playwright

    from tools.browser import launch

    found: dict[str, list[float]] = {name: [] for name in ("interactive", "complete", "sort", "filter")}
    with sync_playwright() as playwright:
        for _ in range(REPEATS):
            browser = launch(playwright)
            page = browser.new_page()
            page.goto(file.resolve().as_uri())
            page.wait_for_selector("html[data-ready]")
            for mark in ("interactive", "complete"):
                found[mark].append(page.evaluate(f"performance.getEntriesByName('{mark}')[0].startTime") / 1000)
            found["sort"].append(page.evaluate(_UNTIL_DRAWN, "#table th .dt-column-order") / 1000)
            found["filter"].append(page.evaluate(_UNTIL_DRAWN, "[data-word]") / 1000)
            browser.close()
    times = {name: median(values) for name, values in found.items()}
    met = times["interactive"] <= BAR_INTERACTIVE
    print(
        f"In Chromium: table sortable {format_seconds(times['interactive'])} after the navigation began (at most "
        f"{format_seconds(BAR_INTERACTIVE)}{'' if met else ', MISSED'}), the whole page there after "
        f"{format_seconds(times['complete'])}; sorted in {format_seconds(times['sort'])}, filtered in "
        f"{format_seconds(times['filter'])}"
    )
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=500)
    parser.add_argument("--report", type=Path, help="a report of --tfperf-json instead of a canned one")
    parser.add_argument("--keep", type=Path, help="folder in which the files are left")
    parser.add_argument("--no-browser", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="writers-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report = read_json(given.report) if given.report else canned_report(Path(temporary), given.arms)
        print(f"{len(report.cases)} arms, written {REPEATS} times")
        print(f"{'':12}{'least':>10}{'first':>10}{'size':>10}  bars")
        done = [measured(writer, report, folder / f"report.{writer.name}") for writer in WRITERS]
        together = sum(seconds for _, seconds in done)
        met = [*(fine for fine, _ in done), together <= BAR_ALL]
        missed = "" if met[-1] else "   MISSED"
        print(f"all, first  {format_seconds(together):>20}{'':10}  at most {format_seconds(BAR_ALL)}{missed}")
        if not given.no_browser:
            met.append(browsed(folder / "report.html"))
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
