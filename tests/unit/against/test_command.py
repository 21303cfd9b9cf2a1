"""How the other side is called, and from where it imports."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tfperf.against.command import Invocation, command, files_there, working_directory
from pytest_tfperf.against.git import find_revision
from pytest_tfperf.against.paths import foreign_modules, import_path, other_variables
from pytest_tfperf.against.worktree import Worktree
from pytest_tfperf.config import PerfConfig
from tests.unit.against.repository import new_repository

FILES = {
    "perf/test_a.py": "",
    "perf/pytest.ini": "[pytest]\n",
    "perf/sub/c.py": "",
    "src/lib.py": "",
    "own/pkg/m.py": "",
}


@pytest.fixture
def worktree(tmp_path: Path) -> Iterator[Worktree]:
    top = new_repository(tmp_path / "repo", FILES)
    worktree = Worktree.add(top, find_revision(top, "HEAD"))
    yield worktree
    worktree.remove()


def config(worktree: Worktree, folder: str = "perf") -> PerfConfig:
    root = worktree.checkout / folder
    return PerfConfig(root=root, baselines=root / "baselines", timeout=30.0, launcher="spawn", keep_logs=True)


def test_paths_of_the_checkout_become_the_worktrees(worktree: Worktree) -> None:
    top, there = worktree.checkout, worktree.top
    new = top / "perf" / "test_new.py"
    new.write_text("")
    invocation = Invocation(
        cwd=top / "perf" / "sub",
        files=(top / "perf" / "test_a.py", new, top / "perf" / "test_a.py"),
        arguments=("-p", "plug"),
        config_file=top / "perf" / "pytest.ini",
        confcutdir=top,
    )
    words = command(worktree, invocation, config(worktree), "/usr/bin/python9", 7)
    assert words[0] == "/usr/bin/python9"
    assert words[words.index("-p") + 1] == "plug"
    assert f"--rootdir={there / 'perf'}" in words
    assert f"--config-file={there / 'perf' / 'pytest.ini'}" in words
    assert f"--confcutdir={there}" in words
    assert {"--tfperf-serve=7", "--tfperf-timeout=30.0", "--tfperf-launcher=spawn", "--tfperf-keep-logs"} <= set(words)
    assert words[-1:] == [str(there / "perf" / "test_a.py")]
    assert str(top) not in " ".join(words)
    assert working_directory(worktree, invocation) == there / "perf" / "sub"
    assert files_there(worktree, [new]) == []


def test_an_ini_file_that_the_revision_lacks_is_left_out(worktree: Worktree) -> None:
    new = worktree.checkout / "perf" / "new.ini"
    new.write_text("[pytest]\n")
    words = command(worktree, Invocation(worktree.checkout, (), config_file=new), config(worktree), "python", 7)
    assert not any("config-file" in word for word in words)


def test_without_a_compile_cache_the_other_side_has_none_either(worktree: Worktree) -> None:
    """As an ini value: an older revision only warns of one that it does not know, and has no such cache."""
    invocation = Invocation(worktree.checkout, ())
    assert "compile_cache" not in " ".join(command(worktree, invocation, config(worktree), "python", 7))
    words = command(worktree, invocation, replace(config(worktree), compile_cache=False), "python", 7)
    assert words[words.index("tfperf_compile_cache=false") - 1] == "-o"


def test_the_revisions_code_comes_first(worktree: Worktree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, there = worktree.checkout, worktree.top
    monkeypatch.syspath_prepend(str(top / "perf" / "sub"))
    finder = types.ModuleType("__editable___x_finder")
    monkeypatch.setattr(finder, "MAPPING", {"pkg": str(top / "own" / "pkg")}, raising=False)
    monkeypatch.setitem(sys.modules, "__editable___x_finder", finder)
    found = import_path(worktree, top / "perf")
    assert found == [str(there / name) for name in ("perf", "", "src", "perf/sub", "own")]
    variables = other_variables(worktree, top / "perf", os.pathsep.join([str(top / "src"), str(tmp_path)]))
    assert variables.split(os.pathsep) == [*found, str(tmp_path)]


def test_code_of_the_checkout_is_found_out(worktree: Worktree) -> None:
    code = (
        "import sys; from pathlib import Path; import lib\n"
        "from pytest_tfperf.against.paths import foreign_modules\n"
        f"print(*foreign_modules(Path({str(worktree.checkout)!r}), Path({str(worktree.top)!r})))"
    )

    def foreign(folder: Path) -> str:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert foreign(worktree.checkout / "src") == f"lib ({worktree.checkout / 'src' / 'lib.py'})"
    assert foreign(worktree.top / "src") == ""


def test_installed_packages_are_nobodys_code() -> None:
    assert foreign_modules(Path(sys.prefix), Path("/nowhere")) == ()
