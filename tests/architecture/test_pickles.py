"""Pickles execute what they hold: they are read in the cluster's room alone, from socket pairs that nobody can name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest_tfperf

PACKAGE = Path(pytest_tfperf.__path__[0])
EXECUTING = {"eval", "exec", "compile", "__import__"}


def calls(path: Path) -> Iterator[tuple[str, str]]:
    """Owner and name of what a file calls or derives from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.value.id, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield "", node.func.id


def using(found: set[tuple[str, str]]) -> set[str]:
    return {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if found & set(calls(path))
    }  # fmt: skip


def test_where_pickles_are_read() -> None:
    loads = {(module, name) for module in ("pickle", "cloudpickle") for name in ("load", "loads", "Unpickler")}
    assert using(loads) == {f"cluster/{name}.py" for name in ("faults", "multi_process", "task", "wire")}


def test_no_socket_of_the_file_system_and_no_listening_one() -> None:
    listens = {(owner, "listen") for owner in ("sock", "socket", "server", "bound", "self")}
    assert not using(listens)
    assert using({("bound", "bind")}) == {"cluster/ports.py"}, "ports are held, and nobody listens on them"
    assert not [path for path in PACKAGE.rglob("*.py") if "socketserver" in path.read_text()]


def test_no_text_is_executed() -> None:
    assert using({("", name) for name in EXECUTING}) <= set()
    assert not using(
        {("yaml", "load"), ("yaml", "unsafe_load"), ("os", "system"), ("shelve", "open"), ("marshal", "loads")}
    )
    for path in PACKAGE.rglob("*.py"):
        assert "shell=True" not in path.read_text(), path
