"""A test's own functions reach the tasks under every way in which pytest imports test modules."""

from __future__ import annotations

import pytest

import pytest_tfperf

_TEST = """
from dataclasses import dataclass
import pytest
{helper_import}
from pytest_tfperf.cluster import ClusterLauncher, placements
from pytest_tfperf.records.task import Layout

FACTOR = 3

@dataclass(frozen=True)
class Answer:
    value: int

def times(value):
    assert value  # rewritten by pytest
    return value * FACTOR

def module_function(task):
    return Answer(times(task.id.index + 1))

@pytest.fixture(scope="module")
def cluster():
    with ClusterLauncher(launcher="spawn", preload=()) as launcher, launcher.start(placements(Layout(workers=2))) as it:
        yield it

def test_module_function(cluster):
    assert list(cluster.run(module_function).values()) == [Answer(3), Answer(6)]

def test_closure_and_local_class(cluster):
    offset = 10
    class Local:
        def __init__(self, value): self.value = value
        def __eq__(self, other): return type(other) is Local and other.value == self.value
    assert list(cluster.run(lambda task: Local(times(1) + offset)).values()) == [Local(13)] * 2

def test_helper(cluster):
    {helper_use}

def test_from_conftest(cluster, from_conftest):
    assert set(cluster.run(from_conftest).values()) == {{"conftest"}}

class TestMethods:
    def method(self, task):
        return times(2)

    def test_method(self, cluster):
        assert list(cluster.run(self.method).values()) == [6, 6]
"""

_CONFTEST = """
import pytest
def answer(task):
    return "conftest"
@pytest.fixture
def from_conftest():
    return answer
"""

_HELPER_USE = "assert set(cluster.run(helping_module.help, 5).values()) == {6}"


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
@pytest.mark.parametrize("packages", [False, True])
def test_functions_arrive(
    mode: str, packages: bool, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A path that has this package and no conftest of ours, which "append" would find first.
    (pytester.mkdir("path") / "pytest_tfperf").symlink_to(pytest_tfperf.__path__[0])
    monkeypatch.setenv("PYTHONPATH", str(pytester.path / "path"))
    importable = mode != "importlib"
    folder = pytester.mkdir("suite")
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "helping_module.py").write_text("def help(task, value):\n    return value + 1\n")
    name = ("suite." if packages else "") + "helping_module"
    text = _TEST.format(
        helper_import=f"import {name} as helping_module" if importable else "",
        helper_use=_HELPER_USE if importable else "pass",
    )
    (folder / "test_it.py").write_text(text)
    if packages:
        (folder / "__init__.py").touch()
    result = pytester.runpytest_subprocess(f"--import-mode={mode}", "-q", "-p", "no:cacheprovider", "suite")
    result.assert_outcomes(passed=5)
