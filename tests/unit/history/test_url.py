"""Passwords are shown nowhere, however wrong their URL is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.history.url import full_url, shown_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////home/ada@home/perf.db", "/home/ada@home/perf.db"),
        ("sqlite:///perf.db", "perf.db"),
        ("postgresql+psycopg://host/perf", "postgresql+psycopg://host/perf"),
        ("postgresql+psycopg://ada@host:5432/perf", "postgresql+psycopg://ada@host:5432/perf"),
        ("postgresql+psycopg://ada:pw@host:5432/perf", "postgresql+psycopg://ada:***@host:5432/perf"),
        ("postgresql://ada:p@w/x@host/perf", "postgresql://ada:***@host/perf"),
        ("postgresql://:pw@host/perf", "postgresql://:***@host/perf"),
        ("postgresql://host/perf?user=ada&password=pw", "postgresql://host/perf?user=ada&password=***"),
        ("postgresql://host/perf?sslpassword=pw&x=1", "postgresql://host/perf?sslpassword=***&x=1"),
        ("no url at all", "no url at all"),
        ("", ""),
    ],
)
def test_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@given(st.text(min_size=4), st.sampled_from(["", "perf", "perf?a=b"]))
def test_whatever_the_password_is(password: str, end: str) -> None:
    secret = f"<{password}>"
    for url in (f"postgresql+psycopg://ada:{secret}@host/{end}", f"mysql://ada:{secret}@host"):
        assert secret not in shown_url(url)


def test_a_path_is_a_file_of_sqlite() -> None:
    assert full_url("perf.db", "/there") == "sqlite:////there/perf.db"
    assert full_url("/elsewhere/perf.db", "/there") == "sqlite:////elsewhere/perf.db"
    assert full_url("postgresql://host/perf", "/there") == "postgresql://host/perf"
    assert full_url("", "/there") == ""
