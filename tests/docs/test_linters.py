"""The files of docs/ci are what their systems take, by the linters that there are for them; each linter can fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.ci_files import CI, GITHUB, GITLAB, every_script

BIN = Path(sys.executable).parent


def lint(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a linter of this environment."""
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}  # where they are installed
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def github_schema(*files: Path) -> subprocess.CompletedProcess[str]:
    return lint("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, files))


def gitlab_schema(file: Path) -> subprocess.CompletedProcess[str]:
    return lint(
        *("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"), str(file)
    )


def zizmor(*files: Path) -> subprocess.CompletedProcess[str]:
    """Security of workflows: pins, credentials, permissions, what could be injected."""
    return lint("zizmor", "--offline", "--no-config", "--no-progress", *map(str, files))


@pytest.mark.parametrize("linter", [github_schema, zizmor])
def test_github(linter: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert len(GITHUB) == 3
    done = linter(*GITHUB)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gitlab() -> None:
    done = gitlab_schema(GITLAB)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("file", "name", "script"), every_script(), ids=lambda value: getattr(value, "name", None))
def test_shell(file: Path, name: str, script: str, tmp_path: Path) -> None:
    path = tmp_path / "script.sh"
    path.write_text(f"#!/bin/sh\n{script}")
    # SC2154: variables that the system sets.
    done = lint("shellcheck", "--shell=sh", "--exclude=SC2154", str(path))
    assert done.returncode == 0, f"{file.name}, {name}:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("linter", "file", "old", "new"),
    [
        (github_schema, GITHUB[0], "runs-on:", "runs-at:"),
        (zizmor, GITHUB[0], "persist-credentials: false", "fetch-depth: 1"),
        (zizmor, GITHUB[2], '"$BASE"', '"origin/${{ github.head_ref }}"'),
        (gitlab_schema, GITLAB, "when: manual", "when: sometimes"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_linter_can_fail(
    linter: Callable[..., subprocess.CompletedProcess[str]], file: Path, old: str, new: str, tmp_path: Path
) -> None:
    text = file.read_text()
    assert old in text
    broken = tmp_path / file.name
    broken.write_text(text.replace(old, new))
    done = linter(broken)
    assert done.returncode != 0, done.stdout + done.stderr


EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
CONTEXTS = {
    "github.base_ref",
    "github.event.pull_request.head.repo.full_name == github.repository",
    "github.event.pull_request.number",
    "github.ref_name",
    "github.run_id",
    "github.token",
    "inputs.reason",
    "runner.temp",
    "!cancelled()",
}
"""The expressions that were looked up: no linter from PyPI knows what GitHub's contexts hold."""


def test_expressions_are_those_that_github_has() -> None:
    found = {each for file in GITHUB for each in EXPRESSION.findall(file.read_text())}
    assert found == CONTEXTS


def test_a_variable_of_the_shell_can_be_forgotten_to_quote(tmp_path: Path) -> None:
    (tmp_path / "script.sh").write_text("#!/bin/sh\ngit push origin $BRANCH\n")
    assert lint("shellcheck", str(tmp_path / "script.sh")).returncode != 0


def test_pinned_actions_are_pinned_alike_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for file in GITHUB:
        for action, pin in re.findall(r"uses: ([\w/-]+)@(\w{40} # v[\d.]+)\n", file.read_text()):
            found.setdefault(action, set()).add(pin)
        assert file.read_text().count("uses:") == len(re.findall(r"@\w{40} # v", file.read_text()))
    assert {action: len(pins) for action, pins in found.items()} == dict.fromkeys(found, 1)
    assert set(found) >= {"actions/checkout", "actions/upload-artifact"}


def test_the_page_names_every_file() -> None:
    page = (CI.parent / "ci.md").read_text()
    assert [file.name for file in sorted(CI.iterdir()) if file.is_file() and f"(ci/{file.name})" not in page] == []
