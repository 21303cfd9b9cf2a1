"""What the README shows works as it stands there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.gate.conftest import Gate

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = {
    match[1]: match[2] for match in re.finditer(r"```python\n# perf_tests/(\w+\.py)\n(.*?)```", README, flags=re.DOTALL)
}


def test_the_examples_are_there() -> None:
    assert set(BLOCKS) == {"test_resnet.py", "test_ours.py", "test_keras.py", "test_cluster.py"}


@pytest.mark.parametrize("name", ["test_ours.py", "test_keras.py"])
def test_a_workload_needs_at_most_15_lines(name: str) -> None:
    functions = [node for node in ast.parse(BLOCKS[name]).body if isinstance(node, ast.FunctionDef)]
    function = next(node for node in functions if not node.name.startswith("test_"))
    assert function.end_lineno is not None
    first = min(decorator.lineno for decorator in function.decorator_list)
    assert function.end_lineno - first + 1 <= 15


@pytest.mark.parametrize(("name", "passed"), [("test_ours.py", 2), ("test_keras.py", 2), ("test_cluster.py", 1)])
def test_an_example_runs(fresh: Gate, name: str, passed: int) -> None:
    done = fresh.run("--tfperf-rounds=1", suite=BLOCKS[name])
    assert done.returncode == 0, done.stdout
    assert f"{passed} passed" in done.stdout


def test_the_first_test_skips_with_the_reason_where_there_is_no_gpu(
    fresh: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = fresh.run("-rs", suite=BLOCKS["test_resnet.py"])
    assert done.returncode == 0, done.stdout
    assert "4 skipped" in done.stdout
    assert "needs 8 GPUs, this machine has 0" in done.stdout
