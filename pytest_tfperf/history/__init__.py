"""Sessions over time: a database that every session is appended to, and the change points in it.

SQLAlchemy, ruptures and SciPy are imported only where they are used: collecting a suite must stay quick.
"""

from __future__ import annotations

from pathlib import Path

from pytest_tfperf.history.url import full_url, shown_url
from pytest_tfperf.report.document import SessionReport

__all__ = ["append", "check_url", "full_url", "shown_url"]


def append(report: SessionReport, url: str) -> None:
    """Append a session to the database; one that is there already is left as it is.

    It is one transaction, and it takes `connection.TOTAL_SECONDS` at most.

    Raises:
        ReportError: the database cannot be reached or written, or is of a newer version; in one line, without the
            password.
    """
    from pytest_tfperf.history.writing import append_session

    append_session(report, url)


def check_url(url: str) -> Path | None:
    """Find out whether `append` has a chance, without a connection; gives the SQLite file that it would write.

    Raises:
        UsageError: not a URL, a database that is not supported, or one whose driver is not installed.
    """
    from pytest_tfperf.history.connection import database_url, sqlite_file

    file = sqlite_file(database_url(url))
    return None if file is None else Path(file)
