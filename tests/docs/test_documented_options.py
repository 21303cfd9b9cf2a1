"""What the pages and the files for CI call an option is one."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.docs.ci_files import CI, DOCS, every_script, pytest_arguments

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(file for file in CI.iterdir() if file.is_file())]
OPTION = re.compile(r"--(?:no-)?tfperf-[a-z-]*[a-z]")


@cache
def known() -> frozenset[str]:
    """The options that `pytest --help` shows."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return frozenset(OPTION.findall(done.stdout))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_are_known(page: Path) -> None:
    assert set(OPTION.findall(page.read_text())) <= known()


def test_the_check_can_fail() -> None:
    assert set(OPTION.findall("pytest --tfperf-jsn x --no-tfperf-compile-cache")) - known() == {"--tfperf-jsn"}


def test_the_files_for_ci_have_commands() -> None:
    assert len(commands()) == 10


def commands() -> list[tuple[str, list[str]]]:
    return [
        (f"{file.name}: {name}", arguments)
        for file, name, script in every_script()
        for arguments in pytest_arguments(script)
    ]


@pytest.mark.parametrize(("name", "arguments"), commands(), ids=[name for name, _ in commands()])
def test_a_command_is_one_that_pytest_takes(pytester: pytest.Pytester, name: str, arguments: list[str]) -> None:
    (pytester.mkdir("perf_tests") / "test_it.py").write_text(
        'import pytest\n@pytest.mark.gpu\n@pytest.mark.tfperf("mlp", strategy="single")\ndef test_it(tfperf): pass\n'
        '@pytest.mark.tfperf("mlp", strategy="single")\ndef test_cpu(tfperf): pass\n'
    )
    here = [argument.replace("/var/lib/tfperf", str(pytester.path)) for argument in arguments]
    result = pytester.runpytest("--collect-only", "-q", *here)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["*1/2 tests collected (1 deselected)*"])
