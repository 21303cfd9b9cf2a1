"""The private folder of one launcher: its clusters' logs, and what XLA keeps for the session."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from pytest_tfperf.cluster.compile_cache import CompileCache
from pytest_tfperf.errors import ClusterStartError

_CACHE = "compile-cache"


class RunFolder:
    """Made when something is first put into it."""

    def __init__(self, base: Path | None, *, keep_logs: bool) -> None:
        """It will be in `base`; None: in the system's folder for temporary files."""
        self._base = base
        self._keep_logs = keep_logs
        self._cache: CompileCache | None = None
        self.made: Path | None = None
        """None before it is there."""

    def path(self) -> Path:
        """The folder. Raises ClusterStartError where none can be made."""
        if self.made is None:
            try:
                self.made = Path(tempfile.mkdtemp(prefix="pytest-tfperf-", dir=self._base))  # for this user's eyes only
            except OSError as error:
                raise ClusterStartError(
                    f"No folder for logs can be made: {error}. Set TMPDIR to a folder that can be written."
                ) from error
        return self.made

    def compile_cache(self) -> CompileCache:
        """Where clusters find what earlier ones have compiled. Raises ClusterStartError."""
        if self._cache is None:
            self._cache = CompileCache(self.path() / _CACHE)
        return self._cache

    def remove(self) -> None:
        """Remove it, but for the logs where they are to be kept. Safe to call again."""
        if self.made is not None:
            # Compiled programs are the session's, and go with it even where its logs stay.
            shutil.rmtree(self.made / _CACHE if self._keep_logs else self.made, ignore_errors=True)
