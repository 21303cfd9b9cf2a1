"""Which baseline files there are under a folder, for commands that look at all of them."""

from __future__ import annotations

from pathlib import Path

from pytest_tfperf.errors import BaselineError


def baseline_files(folder: Path) -> list[Path]:
    """Files of a baselines' folder, or of one environment's folder in it, in the order of their paths.

    Raises:
        BaselineError: there is no such file or folder, or it cannot be listed.
    """
    try:
        if not folder.is_dir():
            what = "is no folder" if folder.exists() else "there is no such file or folder"
            raise BaselineError(f"{folder}: {what}")
        found = _files(folder)
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.name.startswith("."):
                found += _files(inner)
    except OSError as error:
        raise BaselineError(f"{error.filename or folder}: cannot be listed: {error.strerror or error}") from error
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == ".yaml" and not path.name.startswith("."))
