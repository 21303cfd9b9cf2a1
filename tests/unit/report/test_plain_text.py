"""What programs printed for a terminal, as text."""

from __future__ import annotations

import pytest

from pytest_tfperf.report.plain import plain


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("no escape, ä and 日本", "no escape, ä and 日本"),
        ("\x1b[31mred\x1b[0m and \x1b[1;38;5;208mbold\x1b[m", "red and bold"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1b(Bline drawing\x1b=", "line drawing"),
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("10 %\r50 %\r100 %\ndone", "100 %\ndone"),
        ("100 %\r", "100 %"),
        ("bell\x07 and null\x00", "bell and null"),
        ("cut short \x1b", "cut short "),
        ("cut short \x1b[31", "cut short 31"),
    ],
)
def test_plain(printed: str, text: str) -> None:
    assert plain(printed) == text
