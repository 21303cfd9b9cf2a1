"""Texts of tests, machines and logs inside Markdown: shown as they are, never taken for markup, a link or a mention."""

from __future__ import annotations

import html
import re

from pytest_tfperf.report.plain import plain

_UNPRINTABLE = re.compile("[\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""What turns writing around, or has no width, and halves of surrogate pairs, which no file can hold."""
_REFERENCES = re.compile(r"@(?=\S)|[#!](?=\d)|[Gg][Hh]-(?=\d)|:(?=//)|[Ww]{3}(?=\.)|:(?=[a-z+-][a-z0-9_+-]*:)")
"""Where GitHub or GitLab would begin a mention, a reference to an issue or a merge request, an address, or an emoji."""
_BREAK = "\u200b"
"""Of no width. An entity instead of the character itself would not do: the sites resolve entities before they link."""
_SPECIAL = re.compile(r"[\\`*\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])")
"""An underscore between letters or digits is none: names keep theirs."""
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;", "\\": "&#92;", "$": "&#36;", "~": "&#126;"}
_BLOCK = re.compile(r"^(?:(?=[-+=#]+(?: |$))|(\d{1,9})(?=[.)](?: |$)))")
"""What would begin a list, a heading or an underline at the start of a line or of a list's item."""


def printable(text: str) -> str:
    """Text without colours and other controls; its lines end with a newline alone."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", plain(text))


def one_line(text: str) -> str:
    """The same on one line: all white space is one space."""
    return " ".join(printable(text).split())


def inline(text: str) -> str:
    """A text on one line of Markdown, in a table's cell too."""
    text = _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), _unlinked(one_line(text)))
    return _shown_break(_BLOCK.sub(lambda match: f"{match[1] or ''}\\", text))


def code(text: str) -> str:
    """The same in the letters of code; nothing in it is a link."""
    text = one_line(text)
    if text and not re.search(r"[`|\\]", text):
        return f"`{text}`"
    # Links are looked for in here, unlike between backticks.
    return f"<code>{re.sub(r'[^a-zA-Z0-9 ]', lambda match: f'&#{ord(match[0])};', _unlinked(text))}</code>"


def html_line(text: str) -> str:
    """A text on one line of HTML."""
    return _shown_break(html.escape(_unlinked(one_line(text))))


def block(text: str) -> str:
    """Lines of code; the fence is longer than any row of backticks in them."""
    text = printable(text).strip("\n")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def shortened(text: str, most: int) -> str:
    """At most about so many characters of a text: two thirds from its start, and its end."""
    if len(text) <= most:
        return text
    head, tail = 2 * most // 3, most // 3
    return f"{text[:head]}\n... {len(text) - head - tail} characters left out ...\n{text[len(text) - tail :]}"


def _unlinked(text: str) -> str:
    return _REFERENCES.sub(lambda match: match[0] + _BREAK, text)


def _shown_break(text: str) -> str:
    return text.replace(_BREAK, f"&#{ord(_BREAK)};")
