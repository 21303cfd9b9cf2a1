"""The code that AutoGraph generates goes into a folder of the cluster's own, and ends with it.

TensorFlow writes each converted function into a file of the folder for temporary files and imports it from there. It
removes the source at a normal end, which a task's is not, and its bytecode never. In a folder that all users of the
machine can write to, Python would also take that bytecode from whoever has made ``__pycache__`` there first. What a
user's function puts into the folder for temporary files stays where it is.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from types import SimpleNamespace

GENERATED = "generated"
"""Name of that folder, beside the cluster's logs."""
_LOADER = "tensorflow.python.autograph.pyct.loader"


def keep_generated_code(folder: str) -> None:
    """Have the AutoGraph of this process, where it is imported, write into `folder`."""
    loader = sys.modules.get(_LOADER)
    if getattr(loader, "tempfile", None) is tempfile:
        within = functools.partial(tempfile.NamedTemporaryFile, dir=folder)
        loader.tempfile = SimpleNamespace(**{**vars(tempfile), "NamedTemporaryFile": within})  # type: ignore[union-attr]
