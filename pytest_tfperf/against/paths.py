"""From where the other side imports: the code of its own commit, before anything of this checkout."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_tfperf.against.worktree import Worktree


def import_path(worktree: Worktree, root: Path) -> list[str]:
    """Folders of the worktree that come first on the other side's `sys.path`, for PYTHONPATH.

    Those are pytest's rootdir and the top folder, each with its `src` where there is one: so the revision's code wins
    over an installed copy of the project, which is this checkout's. Then whatever of this checkout is on this side's
    path, editable installs included.
    """
    here = [root, root / "src", worktree.checkout, worktree.checkout / "src"]
    here += [Path(entry) for entry in sys.path if entry and not _is_installed(entry)]
    here += [Path(folder).parent for folder in _editable()]
    there = (worktree.counterpart(folder) for folder in here)
    return list(dict.fromkeys(str(folder) for folder in there if folder is not None and folder.is_dir()))


def other_variables(worktree: Worktree, root: Path, variables: str | None) -> str:
    """PYTHONPATH of the other side: the worktree's folders, then this side's own that are not of this checkout."""
    own = [entry for entry in (variables or "").split(os.pathsep) if entry]
    outside = [entry for entry in own if worktree.counterpart(Path(os.path.abspath(entry))) is None]
    return os.pathsep.join([*import_path(worktree, root), *outside])


def _editable() -> list[str]:
    """Package folders that editable installs map names to."""
    found: list[str] = []
    for name, module in list(sys.modules.items()):
        mapping = getattr(module, "MAPPING", None)
        if name.startswith("__editable__") and isinstance(mapping, dict):
            found += [str(folder) for folder in mapping.values()]
    return found


def foreign_modules(checkout: Path, own: Path) -> tuple[str, ...]:
    """Modules imported here from `checkout` that are not of `own`, nor of an environment that lies in it.

    With such a module both sides would measure the same code, and call it unchanged.
    """
    found = []
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and _is_in(file, [checkout]) and not _is_in(file, [own]) and not _is_installed(file):
            found.append(f"{name} ({file})")
    return tuple(found)


def _is_installed(path: str) -> bool:
    packages = [*site.getsitepackages(), site.getusersitepackages()]
    packages += [folder for name, folder in sysconfig.get_paths().items() if "lib" in name]
    if sys.prefix != sys.base_prefix:  # a virtual environment; the system's prefix may hold anybody's checkout
        packages.append(sys.prefix)
    return _is_in(path, packages)


def _is_in(path: str, folders: Sequence[str | Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(folder) for folder in _real(folders))


def _real(folders: Iterable[str | Path]) -> list[str]:
    return [os.path.realpath(folder) for folder in folders]
