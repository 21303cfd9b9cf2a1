"""The environment of a program of its own that a test starts, for instance a pytest."""

from __future__ import annotations

import os
from pathlib import Path

GATE = Path(__file__).parent


def environ(*folders: str | Path, **more: str) -> dict[str, str]:
    """This process's, with the modules of some folders and of this one, and more variables.

    Nothing of the pytest around it, whose arguments are not meant for it; nor of GitHub Actions, where failures on
    purpose would be told in the job's own summary.
    """
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    path = os.pathsep.join(filter(None, [*map(str, folders), str(GATE), os.environ.get("PYTHONPATH", "")]))
    return {**outside, "PYTHONPATH": path, **more}
