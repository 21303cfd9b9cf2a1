"""Files that reports are asked to be written to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_tfperf.errors import UsageError


def check_apart(paths: Mapping[str, Path | None]) -> None:
    """See to it that no file is named twice, so that writing the one would lose the other; None is a name not given.

    A pipe or a device, such as /dev/stdout, takes both.

    Args:
        paths: by what an error calls it, an option for instance.

    Raises:
        UsageError: two of them are one file, whatever links or ``..`` lead to it.
    """
    seen: dict[str, str] = {}
    for argument, path in paths.items():
        if path is None or (path.exists() and not (path.is_file() or path.is_dir())):
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise UsageError(f"{seen[real]} and {argument} both name {path}; give each a place of its own")
        seen[real] = argument
