"""Chromium for the tests and benchmarks of the HTML pages; `python -m tools.browser` provides one where there is none.

In this order: the path in TFPERF_BROWSER, one on PATH, the one that Playwright downloads, Debian's package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from playwright.sync_api import Browser, Playwright, sync_playwright
from playwright.sync_api import Error as PlaywrightError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HELP = """\
No Chromium could be started, and the tests of the HTML report need one. Any of these helps:
- install the package chromium (Debian, Ubuntu: apt-get install chromium) or Google Chrome, so that it is on PATH;
- python -m playwright install --with-deps chromium, where its download can be reached;
- TFPERF_BROWSER=/path/to/chromium, for one that is elsewhere."""


def launch(playwright: Playwright) -> Browser:
    """Start one without a window.

    Raises:
        RuntimeError: there is none, or it does not start; says what to do.
    """
    try:
        return playwright.chromium.launch(executable_path=_found(), args=FLAGS)
    except PlaywrightError as error:
        raise RuntimeError(f"{HELP}\n\n{error}") from error


def _found() -> str | None:
    """Path of one that is named or on PATH; None for Playwright's own."""
    named = os.environ.get("TFPERF_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def _starts() -> str:
    """Version of the one that starts; empty where none does."""
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except RuntimeError:
            return ""
        version = browser.version
        browser.close()
        return version


def _ways() -> Sequence[Sequence[Sequence[str]]]:
    """Commands that provide one."""
    ways: list[Sequence[Sequence[str]]] = [[[sys.executable, "-m", "playwright", "install", "chromium"]]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        ways.append([["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", "chromium"]])
    return ways


def main() -> None:
    version = _starts()
    for commands in _ways():
        if version:
            break
        for command in commands:
            print("No Chromium yet:", *command, flush=True)
            try:
                done = subprocess.run(command, timeout=300)
            except subprocess.TimeoutExpired:
                break
            if done.returncode:
                break
        version = _starts()
    if not version:
        raise SystemExit(HELP)
    print("Chromium", version)


if __name__ == "__main__":
    main()
