"""Quick reading of the YAML that `writer` writes, a line at a time.

A gate reads every baseline file of its session, and a general YAML parser takes a third of a second for one of five
sessions. Nearly all files are as `writer` made them, some with comments and limits set by hand: a subset of YAML where
each line stands for itself. What is read here reads the same anywhere; what is not in the subset, broken files
included, is left to `codec`, which also says what is wrong.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pytest_tfperf.baseline.codec import MAX_CHARACTERS, MAX_DEPTH, Data, Key, Value

# As `writer` spells them: no octal or underscored number, no exponent without a point, nothing that overflows.
_NUMBER = r"-?(?:0|[1-9]\d{0,15})(?:\.\d{1,17}(?:e[+-]?\d\d)?)?"
_WORD = r"[A-Za-z_](?:[A-Za-z0-9_./@()+-]|:(?=[A-Za-z0-9_:])|(?<!:) (?=[A-Za-z0-9_(/]))*(?<!:)"
_QUOTED = r"'(?:[^']|'')*'"
_LINE = re.compile(
    rf"(?P<indent> *)(?:(?P<key>{_WORD}|{_QUOTED})|(?P<count>[1-9]\d{{0,6}})):"
    rf"(?: (?:(?P<number>{_NUMBER})|(?P<word>{_WORD})|(?P<quoted>{_QUOTED})"
    rf"|\[(?P<numbers>{_NUMBER}(?:, {_NUMBER})*)\]|(?P<nothing>\{{\}})))?(?: +#.*)?",
    re.ASCII,
)
_SKIPPED = re.compile(r" *(?:#.*)?")
_FOREIGN = re.compile(r"[^\n\x20-\x7e]")
_CONSTANTS: dict[str, Value] = {"null": None, "true": True, "false": False}
# Words that one YAML reader or another takes for something else, and longer keys than YAML allows on one line.
_AMBIGUOUS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_LONGEST_KEY = 500


class _OtherYamlError(Exception):
    """The text is not in the subset."""


def read_plain(text: str) -> Data | None:
    """The file's data, the same as `codec.parse` gives; None for what only that can read, or refuse with a reason."""
    if len(text) > MAX_CHARACTERS or _FOREIGN.search(text):
        return None
    try:
        return _mapping(text.split("\n"))
    except _OtherYamlError:
        return None


def _mapping(lines: list[str]) -> Data:
    root: Data = {}
    mappings = [root]
    """Those that the next line may go on with, the outermost first."""
    is_empty = True
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            if _SKIPPED.fullmatch(line):
                continue
            raise _OtherYamlError
        indent, text, count = match.group("indent", "key", "count")
        depth, odd = divmod(len(indent), 2)
        deepest = len(mappings) - 1
        # A mapping that was just opened needs a line of its own: without one the value is null.
        if odd or depth > deepest or (is_empty and depth < deepest):
            raise _OtherYamlError
        del mappings[depth + 1 :]
        key, mapping = int(count) if count else _key(text), mappings[-1]
        if key in mapping:
            raise _OtherYamlError
        is_empty = match.lastgroup in ("key", "count")
        if is_empty:
            inner: Data = {}
            mapping[key] = inner
            mappings.append(inner)
            if len(mappings) >= MAX_DEPTH:
                raise _OtherYamlError
        else:
            mapping[key] = _value(match)
    if is_empty:
        raise _OtherYamlError
    return root


@lru_cache(maxsize=256)  # every session has the same ones
def _key(text: str) -> Key:
    if len(text) > _LONGEST_KEY:
        raise _OtherYamlError
    return _unquoted(text) if text[0] == "'" else _word(text)


def _value(match: re.Match[str]) -> Value:
    kind = match.lastgroup
    if kind == "numbers":
        return [_number(item) for item in match["numbers"].split(", ")]
    if kind == "number":
        return _number(match["number"])
    if kind == "quoted":
        return _unquoted(match["quoted"])
    if kind == "nothing":
        return {}
    text = match["word"]
    return _CONSTANTS[text] if text in _CONSTANTS else _word(text)


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _word(text: str) -> str:
    if text.lower() in _AMBIGUOUS:
        raise _OtherYamlError
    return text
