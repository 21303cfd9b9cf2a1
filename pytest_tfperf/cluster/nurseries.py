"""The supervisors of one session: the one that fits the environment, and those that clusters still run on."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from pytest_tfperf.cluster.messages import Mode
from pytest_tfperf.cluster.nursery import Nursery
from pytest_tfperf.cluster.shortage import start_errors

_IMPORT_TIME_PREFIXES = ("TF_", "XLA_", "CUDA", "NCCL_", "OMP_", "KERAS_", "MKL_", "OPENBLAS_", "LD_", "PYTHON")
_PER_TASK = frozenset({"TF_CONFIG", "TF_GRPC_REUSE_PORT", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})


def import_time_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that a process which has imported TensorFlow may have read already, for good."""
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(_IMPORT_TIME_PREFIXES) and name not in _PER_TASK
    }


class Nurseries:
    """Has at most one supervisor for new clusters; an earlier one goes with the last cluster that runs on it."""

    def __init__(
        self,
        mode: Mode,
        isolation: Literal["auto", "namespace", "host"],
        preload: tuple[str, ...],
        *,
        keep_logs: bool,
        directory: Callable[[], Path],
        told: Callable[[str], None],
    ) -> None:
        """Starts none yet. `directory` gives the folder for their logs; `told` hears of each that is ready."""
        self._mode: Mode = mode
        self._isolation: Literal["auto", "namespace", "host"] = isolation
        self._preload = preload
        self._keep_logs = keep_logs
        self._directory = directory
        self._told = told
        self._current: Nursery | None = None
        self._retired: list[Nursery] = []
        self._count = itertools.count(1)

    @property
    def current(self) -> Nursery | None:
        """The one for new clusters, ready or not; None before the first start."""
        return self._current

    def started(self, env: Mapping[str, str]) -> Nursery:
        """The one that fits an environment to which `env` is added; a new one is not waited for.

        Raises ClusterStartError and SupervisorGoneError.
        """
        environ = {**os.environ, **env}
        current = self._current
        if current is not None:
            same = import_time_variables(current.environ) == import_time_variables(environ)
            if not (current.alive and same):
                self._retired.append(current)
                self._current = None
        self._discard_unused()
        if self._current is None:
            with start_errors():
                self._current = Nursery(
                    self._mode,
                    isolation=self._isolation,
                    environ=environ,
                    preload=self._preload,
                    run_dir=self._directory(),
                    keep_logs=self._keep_logs,
                    number=next(self._count),
                )
        return self._current

    def ready(self, env: Mapping[str, str], deadline: float) -> Nursery:
        """The same, once it is ready. Raises TensorFlowMissingError too."""
        nursery = self.started(env)
        if nursery.ready is None:
            try:
                ready = nursery.wait_ready(deadline)
            except BaseException:
                nursery.discard()
                self._current = None
                raise
            text = f"imported TensorFlow in {ready.import_seconds:.1f} s" if ready.mode == "fork" else "spawns tasks"
            self._told(text + (f": {ready.cannot_fork}" if ready.cannot_fork else ""))
        return nursery

    def close(self) -> None:
        """End them all, and with them every task."""
        for nursery in (*self._retired, *([self._current] if self._current else [])):
            nursery.close()

    def _discard_unused(self) -> None:
        for nursery in [one for one in self._retired if one.users == 0 or not one.alive]:
            self._retired.remove(nursery)
            nursery.discard()
