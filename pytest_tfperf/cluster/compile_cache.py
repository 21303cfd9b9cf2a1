"""Where XLA keeps what it has compiled and tuned, so that later runs of the same session need not do it again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class CacheFlag:
    """A flag that names a folder in which XLA keeps something."""

    variable: str
    """The environment variable that XLA reads it from, when it first compiles in a process."""
    name: str
    folder: str
    """Name of the folder within the cache."""


FLAGS = (
    # Whole programs, as executables: `jit_compile` functions and auto-clusters, on CPUs and GPUs.
    CacheFlag("TF_XLA_FLAGS", "tf_xla_persistent_cache_directory", "programs"),
    # Which kernel is the fastest for a part of a program, as tried on the GPU: programs that differ share parts.
    # TensorFlow 2.21 takes the second flag for it and leaves the first unused, others the other way round.
    CacheFlag("XLA_FLAGS", "xla_gpu_per_fusion_autotune_cache_dir", "autotuning"),
    CacheFlag("XLA_FLAGS", "xla_gpu_experimental_autotuner_cache_dir", "autotuning"),
)
"""Each result is a file of its own, written under another name first, so that tasks may compile at the same time."""


def cache_environ(environ: Mapping[str, str], folder: Path, flags: Iterable[CacheFlag]) -> dict[str, str]:
    """The variables to set so that XLA keeps its results in `folder`; what is in `environ` stays, and wins.

    A variable that names a file of flags is left alone, as nothing can be added to it. So is a kind of result for which
    the user has set either flag.
    """
    added: dict[str, str] = {}
    users = {flag.folder for flag in FLAGS if flag.name in environ.get(flag.variable, "")}
    for flag in flags:
        before = added.get(flag.variable, environ.get(flag.variable, "")).strip()
        if flag.folder in users or (before and not before.startswith("-")):
            continue
        # In quotes, as the folder for temporary files may have a space in its name. Last come those of the user.
        added[flag.variable] = f"--{flag.name}='{folder / flag.folder}' {before}".strip()
    return added


def keeps_programs(environ: Mapping[str, str]) -> bool:
    """Whether the user's own flag names a folder that holds programs already, of an earlier session or of training."""
    flag = FLAGS[0]
    named = re.search(rf"""{flag.name}=(?:'([^']*)'|"([^"]*)"|(\S+))""", environ.get(flag.variable, ""))
    folder = next((Path(text) for text in named.groups() if text), None) if named else None
    try:
        return folder is not None and any(folder.iterdir())
    except OSError:
        return False


class Trial(Protocol):
    """What can try an environment out; a `Nursery`."""

    def try_environment(self, added: Mapping[str, str]) -> bool:
        """Whether TensorFlow compiles in a task with these variables added."""
        ...


class CompileCache:
    """One session's folder of compiled programs, and the flags that this TensorFlow was found to take."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, for this user's eyes only."""
        self.folder = folder
        self._known: dict[tuple[tuple[str, str], ...], tuple[CacheFlag, ...]] = {}
        """Flags that work, by the values of the user's own, of which one may be wrong too."""
        folder.mkdir(mode=0o700, exist_ok=True)
        for flag in FLAGS:
            (folder / flag.folder).mkdir(mode=0o700, exist_ok=True)

    def environ(self, environ: Mapping[str, str], tasks: Trial) -> dict[str, str]:
        """The variables to add to `environ` for tasks; those that end a process are found in a trial and left out."""
        own = tuple((flag.variable, environ.get(flag.variable, "")) for flag in FLAGS)
        if own not in self._known:
            self._known[own] = self._tried(environ, tasks)
        return cache_environ(environ, self.folder, self._known[own])

    def _tried(self, environ: Mapping[str, str], tasks: Trial) -> tuple[CacheFlag, ...]:
        def works(flags: Sequence[CacheFlag]) -> bool:
            added = cache_environ(environ, self.folder, flags)
            return bool(added) and tasks.try_environment(added)

        return FLAGS if works(FLAGS) else tuple(flag for flag in FLAGS if works([flag]))
