"""`make test` runs every test once, and those that are to be alone alone."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))


def stages() -> Iterator[tuple[str, list[str]]]:
    """The marks and the folders of each pytest in the Makefile's target `test`."""
    makefile = (TESTS.parent / "Makefile").read_text().replace("\\\n", " ")
    needed = re.findall(r"^test: (.*)$", makefile, re.MULTILINE)
    for target in needed[0].split():
        (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        for line in recipe.splitlines():
            words = shlex.split(line)
            if "pytest" in words:
                marks = words[words.index("-m", words.index("pytest")) + 1] if words.count("-m") > 1 else ""
                yield marks, [word.removeprefix("tests/") for word in words if word.startswith("tests/")]


def folder_of(path: Path) -> str:
    return path.relative_to(TESTS).parts[0]


def test_every_folder_is_in_one_stage() -> None:
    chosen = Counter(folder for marks, folders in stages() if marks != "alone" for folder in folders)
    assert chosen == Counter({folder_of(path) for path in FILES})


def test_what_is_to_be_alone_is_not_run_beside_others() -> None:
    marked = {folder_of(path) for path in FILES if path != Path(__file__) and "pytest.mark.alone" in path.read_text()}
    (alone,) = (folders for marks, folders in stages() if marks == "alone")
    (beside,) = (folders for marks, folders in stages() if marks == "not alone")
    assert marked == set(alone)
    assert marked <= set(beside)


def test_one_pytest_can_run_them_all() -> None:
    """It imports test files by their names alone."""
    assert [name for name, count in Counter(path.name for path in FILES).items() if count > 1] == []
