"""Whatever a database's URL is, it is one or a usage error, and its password is never shown."""

from __future__ import annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pytest_tfperf.errors import UsageError
from pytest_tfperf.history import check_url, shown_url

SCHEMES = st.sampled_from(["postgresql", "postgres", "postgresql+psycopg", "mysql", "sqlite", "oracle+cx", "http"])
ODD = st.text("ab1:/@?#&%[]=+ \\\n\t'\"é", max_size=12)


@settings(max_examples=200, deadline=None)
@given(url=st.one_of(st.text(max_size=30), st.builds("{}://{}".format, SCHEMES, ODD)))
@example("postgresql://[")
@example("postgresql://h:port/x")
@example("sqlite://///\0")
def test_a_url_or_a_usage_error(url: str) -> None:
    assert isinstance(shown_url(url), str)
    try:
        check_url(url)
    except UsageError as error:
        assert str(error)  # noqa: PT017


@settings(max_examples=200, deadline=None)
@given(scheme=SCHEMES, user=st.text("ab1", max_size=4), tail=ODD)
def test_a_password_is_never_in_an_error(scheme: str, user: str, tail: str) -> None:
    assume(scheme != "sqlite")
    secret = "hunter2secret"
    url = f"{scheme}://{user}:{secret}@{tail}"
    assert secret not in shown_url(url)
    try:
        check_url(url)
    except UsageError as error:
        assert secret not in str(error)  # noqa: PT017
