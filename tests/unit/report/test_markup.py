"""Whatever a test or a log says, Markdown shows the very same, and nothing of it becomes markup or a link."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import cmarkgfm  # type: ignore[import-untyped]
import pytest
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_tfperf.report.markup import block, code, html_line, inline, one_line, printable, shortened

NASTY = [
    *"`*_~[]()<>&|\\!#$@-+=.:>\n\r\t\"'{}^ aZ09é",
    *("``", "```", "~~~", "<!--", "-->", "<b>", "</details>", "</code>", "<script>", "&lt;", "&#124;", "\\|", "\\`"),
    *("@octocat", "#123", "!45", "GH-12", ":tada:", "https://x.y/a_b", "www.x.y", "a@b.cd", "- ", "1. ", "# ", "> "),
    *("[a](b)", "[x]: y", "![i](j)", "|---|", "===", "---", "\x1b[31m", "\x00", "\ud800", "\u202e", "\u200b", "x_y"),
]
TEXTS = st.lists(st.sampled_from(NASTY), max_size=12).map("".join)
OURS = {"table", "thead", "tbody", "tr", "th", "td", "code", "p", "li", "ul", "pre", "details", "summary", "h2"}
LINKED = r"@\w|[#!]\d|GH-\d|:[a-z]+:"
"""What the sites make links and pictures of, in the text that the browser gets."""


class Page(HTMLParser):
    """The tags of a page, and its text in each of them."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.code: list[str] = []
        self.prose = ""
        """All that is not code."""
        self._open: list[str] = []
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        if tag in ("td", "th", "li"):
            self.cells.append("")
        if tag == "code":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if any(tag in self._open for tag in ("td", "th", "li")):
            self.cells[-1] += data
        if "code" in self._open:
            self.code[-1] += data
        else:
            self.prose += data


def seen(text: str) -> str:
    """A text without what has no width."""
    return text.replace("\u200b", "")


def check_tags(page: Page) -> None:
    assert set(page.tags) <= OURS


@given(TEXTS, TEXTS)
@example("", "`a@b.cd")
def test_a_text_in_a_table_is_shown_as_it_is(first: str, second: str) -> None:
    page = Page(f"| a | b |\n| - | - |\n| {inline(first)} | {code(second)} |\n")
    check_tags(page)
    assert page.tags.count("td") == 2
    assert page.tags.count("tr") == 2
    assert seen(page.cells[2]) == seen(one_line(first))
    assert seen(page.cells[3]) == seen(one_line(second))
    assert not re.search(LINKED, page.prose)


@given(TEXTS)
def test_a_text_in_a_list_is_shown_as_it_is(text: str) -> None:
    page = Page(f"- {inline(text)}\n- {inline(text)}\n")
    check_tags(page)
    assert page.tags.count("li") == 2
    assert page.tags.count("ul") == 1
    assert [seen(cell).strip() for cell in page.cells] == [seen(one_line(text)).strip()] * 2


@given(TEXTS, TEXTS)
def test_a_log_stays_in_its_block(about: str, log: str) -> None:
    markdown = f"<details><summary>{html_line(about)}</summary>\n\n{block(log)}\n\n</details>\n\n## After\n"
    page = Page(markdown)
    assert page.tags == ["details", "summary", "pre", "code", "h2"]
    assert page.code[0].rstrip("\n") == printable(log).strip("\n").rstrip("\n")
    assert not re.search(LINKED, page.prose)
    assert one_line(seen(page.prose)) == one_line(f"{seen(one_line(about))} After")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31;1mred\x1b[0m and \x1b]8;;http://x\x07link\x1b]8;;\x07", "red and link"),
        ("10 %\r20 %\r\ndone", "20 %\ndone"),
        ("a\x00b\x07c\ud83d", "abc\ufffd"),
        ("left\u202eright", "left\ufffdright"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_controls_are_gone(text: str, shown: str) -> None:
    assert printable(text) == shown
    printable(text).encode()


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("17 940 +- 0.8 % (-12.5 %)", "17 940 +- 0.8 % (-12.5 %)"),
        ("multi_worker_mirrored", "multi_worker_mirrored"),
        ("_private, x_", "\\_private, x\\_"),
        ("a | b", "a &#124; b"),
        ("# 1. heading", "\\# 1. heading"),
        ("1. item", "1\\. item"),
        ("tensorflow 2.21.0", "tensorflow 2.21.0"),
        ("ask @team about #12", "ask @&#8203;team about #&#8203;12"),
        ("<!-- no -->", "&lt;!-- no --&gt;"),
    ],
)
def test_what_needs_no_escape_has_none(text: str, markdown: str) -> None:
    assert inline(text) == markdown


def test_code_is_readable_where_it_can_be() -> None:
    assert code("perf_tests/test_a.py::test_b[4]") == "`perf_tests/test_a.py::test_b[4]`"
    assert code("a`b|c") == "<code>a&#96;b&#124;c</code>"
    assert code("") == "<code></code>"


def test_a_long_text_keeps_its_start_and_its_end() -> None:
    text = shortened("a" * 5000 + "z" * 5000, 300)
    assert len(text) < 360
    assert text.startswith("a" * 200)
    assert text.endswith("z" * 100)
    assert "9700 characters left out" in text
    assert shortened("short", 300) == "short"
