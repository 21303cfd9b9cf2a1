"""The scripts of the files for CI do what the page says, in a repository of their own, with made up runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.ci_files import CI, GITHUB, GITLAB, JENKINS, steps
from tests.plugin.canned_session import QUICK, VERDICTS, suite

ROOT = Path(__file__).parents[2]
NIGHTS = [
    (GITHUB[1], ["gate: Gate", "gate: Enough was judged"]),
    (GITLAB, ["tfperf nightly"]),
    (JENKINS, ["Gate"]),
]
SAVES = [
    (GITHUB[0], ["measure: Measure and save", "measure: As a patch"]),
    (GITLAB, ["tfperf save baselines"]),
    (JENKINS, ["Save baselines"]),
]
NOT_HERE = ("--tfperf-html", "--tfperf-history")
"""Reports with tests of their own; what they write is nobody's input here."""


class Checkout:
    """A repository with a suite, as a job finds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tests = folder / "perf_tests"
        tests.mkdir(parents=True)
        (tests / "judged.py").write_bytes((CI / "judged.py").read_bytes())
        (folder / ".gitignore").write_text(".venv-tfperf/\ntfperf/\n__pycache__/\n")
        python = folder / ".venv-tfperf" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(ROOT))} CUDA_VISIBLE_DEVICES=\nunset PYTEST_CURRENT_TEST\n"
            f'export PYTEST_ADDOPTS="-p tests.plugin.canned_session {" ".join(QUICK)}"\n'
            f'exec {shlex.quote(sys.executable)} "$@"\n'
        )
        python.chmod(0o755)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "somebody")
        self.git("config", "user.email", "somebody@example.com")
        self.write(suite("unchanged"))

    def write(self, tests: str) -> None:
        (self.folder / "perf_tests" / "test_suite.py").write_text(tests)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Tests")

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=True, env=_environment()
        ).stdout

    def run(self, file: Path, names: list[str], **env: str) -> subprocess.CompletedProcess[str]:
        """Run steps of a file, as its system does: each ends at its first failure, and so does the job."""
        script = "\n".join(f"set -e\n{_here(steps(file)[name])}" for name in names)
        environment = {**_environment(), **env}
        return subprocess.run(
            ["sh", "-c", script], cwd=self.folder, capture_output=True, text=True, check=False, env=environment
        )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GIT_", "PYTEST_"))}


def _here(script: str) -> str:
    """A script as it can run on a machine without GPUs."""
    lines = []
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        for option in NOT_HERE:
            if option in words:
                del words[words.index(option) : words.index(option) + 2]
        if "pytest" in words:
            words[words.index("gpu")] = "not gpu"
            lines.append(shlex.join(words))
        else:
            lines.append(line.replace("--at-least 24", "--at-least 1"))
    return "\n".join(lines)


@pytest.mark.parametrize(("file", "names"), SAVES, ids=lambda value: getattr(value, "name", None))
def test_saving_makes_a_patch_that_brings_the_baselines(file: Path, names: list[str], tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "checkout")
    (checkout.folder / "tfperf").mkdir()
    done = checkout.run(file, names)
    assert done.returncode == 0, done.stdout + done.stderr
    other = tmp_path / "other"
    checkout.git("worktree", "add", "--quiet", "--detach", str(other), "main")
    patch = checkout.folder / "tfperf" / "baselines.patch"
    subprocess.run(["git", "apply", "--index", str(patch)], cwd=other, check=True)
    (saved,) = (other / "baselines").glob("*/*.yaml")
    assert "throughput" in saved.read_text()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with baselines."""
    checkout = Checkout(tmp_path_factory.mktemp("saved") / "checkout")
    checkout.write(suite(*(name for name in VERDICTS if name != "no_baseline"), saving=True))
    done = checkout.run(*SAVES[1])
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout.folder


def copy_of(saved: Path, tmp_path: Path, *tests: str) -> Checkout:
    checkout = Checkout(tmp_path / "checkout")
    shutil.copytree(saved / "baselines", checkout.folder / "baselines")
    checkout.write(suite(*tests))
    return checkout


@pytest.mark.parametrize(("file", "names"), NIGHTS, ids=lambda value: getattr(value, "name", None))
def test_a_night_is_green_where_enough_was_judged_and_nothing_lost(
    file: Path, names: list[str], saved: Path, tmp_path: Path
) -> None:
    checkout = copy_of(saved, tmp_path, "unchanged", "improved")
    done = checkout.run(file, names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 arms were judged, 1 are asked for" in done.stdout
    report = json.loads((checkout.folder / "tfperf" / "report.json").read_text())
    assert [case["outcome"] for case in report["cases"]] == ["passed", "passed"]
    assert ElementTree.parse(checkout.folder / "tfperf" / "junit.xml").find(".//testcase") is not None


@pytest.mark.parametrize(("name", "why"), [("regressed", "1 failed"), ("no_baseline", "0 of 1 arms were judged")])
def test_a_night_is_red_where_something_regressed_or_nothing_was_judged(
    name: str, why: str, saved: Path, tmp_path: Path
) -> None:
    done = copy_of(saved, tmp_path, name).run(*NIGHTS[0])
    assert done.returncode == 1, done.stdout + done.stderr
    assert why in done.stdout


def test_the_workflow_proposes_what_was_measured(saved: Path, tmp_path: Path) -> None:
    origin, fresh = tmp_path / "origin.git", tmp_path / "fresh"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(saved), str(origin)], check=True)
    subprocess.run(["git", "clone", "--quiet", str(origin), str(fresh)], check=True)
    (tmp_path / "gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$LOG"\n')
    (tmp_path / "gh").chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", steps(GITHUB[0])["propose: Open a pull request"]],
        cwd=fresh,
        env={
            **_environment(),
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "LOG": str(tmp_path / "asked"),
            "RUNNER_TEMP": str(saved),  # has the folder tfperf with the patch
            "BASE": "main",
            "BRANCH": "tfperf-baselines-1",
            "REASON": 'faster; rm -rf "$HOME"',
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:2] == ["auth", "setup-git"]
    assert 'Training speed baselines: faster; rm -rf "$HOME"' in asked
    log = subprocess.run(
        ["git", "--git-dir", str(origin), "show", "--stat", "--format=%s", "tfperf-baselines-1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Training speed baselines: faster" in log
    assert "mlp-multi_worker_mirrored-unchanged.yaml" in log


def test_judged_counts_what_was_decided_and_says_what_was_not(saved: Path, tmp_path: Path) -> None:
    checkout = copy_of(saved, tmp_path, "unchanged", "improved", "no_baseline", "error", "skipped")
    assert checkout.run(GITHUB[1], ["gate: Gate"]).returncode == 1
    enough, few = judged(checkout.folder, 2), judged(checkout.folder, 3)
    assert (enough.returncode, few.returncode) == (0, 1)
    assert enough.stdout == "2 of 4 arms were judged, 2 are asked for\n"
    assert few.stdout.splitlines()[0] == "2 of 4 arms were judged, 3 are asked for"
    assert "  1 x no_baseline" in few.stdout
    assert "  1 x error: worker:1 died (SIGKILL) before it gave its result" in few.stdout


def judged(folder: Path, least: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CI / "judged.py"), "tfperf/report.json", "--at-least", str(least)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "content",
    [None, "", "{}", "[]", "{", '{"cases": 1}', '{"cases": [[]]}', '{"cases": [{"judgement": 1}]}', "[" * 100_000],
)
def test_judged_without_a_report_is_no_success(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    command = [sys.executable, str(CI / "judged.py"), "report.json", "--at-least", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "report.json: no report of pytest-tfperf" in done.stderr
    assert "Traceback" not in done.stderr
