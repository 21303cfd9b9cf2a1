"""URLs of databases: of files too, and as they may be shown."""

from __future__ import annotations

import os
import re

from pytest_tfperf.redaction import hide_passwords

_SQLITE = re.compile(r"sqlite(\+\w+)?:///", re.ASCII)


def shown_url(url: str) -> str:
    """The URL for people: a file's path for SQLite, ``***`` for a password elsewhere. Never fails."""
    if _SQLITE.match(url):
        return _SQLITE.sub("", url)
    return hide_passwords(url)


def full_url(given: str, folder: str | os.PathLike[str]) -> str:
    """A path becomes the URL of an SQLite file, relative to the folder; a URL stays as it is, and so does nothing."""
    if not given or "://" in given:
        return given
    return f"sqlite:///{os.path.abspath(os.path.join(folder, os.path.expanduser(given)))}"
