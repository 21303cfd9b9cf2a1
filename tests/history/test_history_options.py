"""--tfperf-history: what is wrong is said before anything is measured, and passwords stay out of reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tfperf.errors import UsageError
from pytest_tfperf.fixtures import SESSION
from pytest_tfperf.history import check_url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:secret@host/perf", "*mysql://me:[*][*][*]@host/perf: a history cannot be kept in mysql*"),
        ("postgresql+psycopg2://host/perf", "*a history cannot be kept in postgresql+psycopg2*"),
        (
            "postgresql://me:se@cret@host:port/perf",
            "*postgresql://me:[*][*][*]@host:port/perf: not the URL of a database*",
        ),
        ("sqlite://", "*a database in memory ends with the session*"),
        ("sqlite:///:memory:", "*a database in memory ends with the session*"),
        ("/dev/null/perf.db", "*--tfperf-history /dev/null/perf.db: its folder cannot be made*"),
        (".", "*this is a folder, the option takes a file*"),
    ],
)
def test_what_cannot_work_is_a_usage_error(pytester: pytest.Pytester, url: str, message: str) -> None:
    result = pytester.runpytest(f"--tfperf-history={url}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "cret" not in result.stderr.str().replace("secret@host", "")


def test_a_path_is_relative_to_where_it_is_said(pytester: pytest.Pytester) -> None:
    def url(*arguments: str) -> str:
        return pytester.parseconfigure(*arguments).stash[SESSION].config.outputs.history

    assert url() == ""
    assert url("--tfperf-history=deep/perf.db") == f"sqlite:///{pytester.path}/deep/perf.db"
    assert (pytester.path / "deep").is_dir()
    pytester.makeini("[pytest]\ntfperf_history = nights.db\n")
    assert url() == f"sqlite:///{pytester.path}/nights.db"
    assert url("--tfperf-history=postgresql://host/perf") == "postgresql://host/perf"
    assert url("--tfperf-history=") == "", "an empty one switches off the ini file's"


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"psycopg.*pip install 'pytest-tfperf\[postgres\]'"):
        check_url("postgresql://host/perf")


def test_without_sqlalchemy(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, pytest, sys\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'sqlalchemy' else real(name, *rest)\n"
        "sys.exit(pytest.main(['-p', 'pytest_tfperf.plugin', '-p', 'no:tfperf', *sys.argv[1:]]))"
    )
    for url, extra in (("perf.db", "history"), ("postgresql://host/perf", "postgres")):
        done = subprocess.run(
            [sys.executable, "-c", code, f"--tfperf-history={url}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert f"needs the Python package sqlalchemy: pip install 'pytest-tfperf[{extra}]'" in done.stderr


def test_the_package_is_light(tmp_path: Path) -> None:
    code = (
        "import sys, pytest_tfperf.reporting, pytest_tfperf.output_options, pytest_tfperf.history as h;"
        "h.shown_url('sqlite:///a'); print(*sorted({'sqlalchemy', 'numpy', 'scipy', 'ruptures'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_no_password_gets_into_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    url = "postgresql://me:s3cret@127.0.0.1:1/perf"
    result = pytester.runpytest(f"--tfperf-history={url}", "--tfperf-json=report.json")
    assert result.ret == 0  # a history that is away fails nothing
    written = (pytester.path / "report.json").read_text()
    assert "postgresql://***@127.0.0.1:1/perf" in written
    assert "s3cret" not in written + result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["*history was not written: postgresql://me:[*][*][*]@127.0.0.1:1/perf: *refused*"])
