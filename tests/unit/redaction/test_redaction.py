"""What is shown to nobody."""

from __future__ import annotations

import pytest

from pytest_tfperf.redaction import hide_passwords, hide_users, is_secret, passwords_of, without_secrets


def test_in_a_line_of_arguments() -> None:
    assert hide_passwords("--tfperf-history=postgresql://ada:pw@host/perf") == (
        "--tfperf-history=postgresql://ada:***@host/perf"
    )
    assert passwords_of("postgresql://ada:pw@host/perf?sslpassword=other") == ("pw", "other")


def test_a_command_line_has_no_secrets() -> None:
    given = [
        "--tfperf-history",
        "postgresql://me:se:cr@t@db/perf",
        "--x=https://:tok@host",
        "a::b[1:2@3]",
        "sqlite:///x",
        "--api-token=abc",
        "--password",
        "hunter2",
        "-o",
        "my_secret=abc",
        "tests/test_token.py",
        "--token-file",
        "-v",
        "--override-ini=password=x=y",
        "--override-ini=addopts=-q",
        "-opassword=x",
        "--index=https://ghp_abc@host/simple",
        "tests/test_a.py::test_b[token=c]",
    ]
    assert without_secrets(given) == (
        "--tfperf-history",
        "postgresql://***@db/perf",
        "--x=https://***@host",
        "a::b[1:2@3]",
        "sqlite:///x",
        "--api-token=***",
        "--password",
        "***",
        "-o",
        "my_secret=***",
        "tests/test_token.py",
        "--token-file",
        "-v",
        "--override-ini=password=***",
        "--override-ini=addopts=-q",
        "-opassword=***",
        "--index=https://***@host/simple",
        "tests/test_a.py::test_b[token=c]",
    )


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "TF_GPU_PASSWORD",
        "NCCL_AUTH_TOKEN",
        "NCCL_SIGNING_KEY",
        "TF_XLA_PASS",
        "--api-key",
        "PWD",
        "NCCL_AUTHKEY",
        "NCCL_AUTHORIZATION",
        "TF_GPU_USERPASS",
        "TF_XLA_PASSCODE",
        "authors_token",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["TF_XLA_PASSES", "NCCL_ALGO", "TF_NUM_INTEROP_THREADS", "author", "--keyboard", "bypass", "compass", "authors"],
)
def test_other_names(name: str) -> None:
    assert not is_secret(name)


def test_users_of_urls() -> None:
    assert hide_users("see http://ada:pw@host/x and ftp://host/y") == "see http://***@host/x and ftp://host/y"
