"""Database URLs as they may be shown: without their passwords, whatever else may be wrong with them."""

from __future__ import annotations

import re

_HIDDEN = "***"
_SQLITE = re.compile(r"sqlite(\+\w+)?:///", re.ASCII)
_USER_INFO = re.compile(r"(?P<scheme>\w[\w+.-]*://)(?P<user>[^:@/]*):(?P<password>.*)@", re.ASCII | re.DOTALL)
_IN_QUERY = re.compile(r"(?P<name>[?&]\w*password=)[^&#]*", re.ASCII | re.IGNORECASE)


def shown_url(url: str) -> str:
    """The URL for people: a file's path for SQLite, ``***`` for a password elsewhere. Never fails."""
    if _SQLITE.match(url):
        return _SQLITE.sub("", url)
    return hide_passwords(url)


def hide_passwords(text: str) -> str:
    """Replace the passwords of URLs in a text.

    A password that should have been percent-encoded and was not, with an ``@`` or ``/`` in it, is hidden all the same:
    everything up to the last ``@`` is taken for it.
    """
    return _IN_QUERY.sub(rf"\g<name>{_HIDDEN}", _USER_INFO.sub(rf"\g<scheme>\g<user>:{_HIDDEN}@", text))


def passwords_of(url: str) -> tuple[str, ...]:
    """What must not be shown of a URL, as it is written there."""
    found = [match["password"] for match in _USER_INFO.finditer(url)]
    found += [match[0].partition("=")[2] for match in _IN_QUERY.finditer(url)]
    return tuple(password for password in found if password)
