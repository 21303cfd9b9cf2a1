"""Passwords are shown nowhere, however wrong their URL is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tfperf.history.url import hide_passwords, passwords_of, shown_url


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


def test_in_a_line_of_arguments() -> None:
    assert hide_passwords("--tfperf-history=postgresql://ada:pw@host/perf") == (
        "--tfperf-history=postgresql://ada:***@host/perf"
    )
    assert passwords_of("postgresql://ada:pw@host/perf?sslpassword=other") == ("pw", "other")


@given(st.text(min_size=4), st.sampled_from(["", "perf", "perf?a=b"]))
def test_whatever_the_password_is(password: str, end: str) -> None:
    secret = f"<{password}>"
    for url in (f"postgresql+psycopg://ada:{secret}@host/{end}", f"mysql://ada:{secret}@host"):
        assert secret not in shown_url(url)
