"""What the numbers depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Change = tuple[str, str | None, str | None]
"""A soft key of an environment that is not as it was: key, then, now; None where there was no such key."""


@dataclass(frozen=True)
class Environment:
    """Hard keys choose the baseline; soft keys are stored, and named in a failure where they changed."""

    hard: Mapping[str, str | int]
    soft: Mapping[str, str]

    @property
    def name(self) -> str:
        """Folder name made of the hard keys, for instance ``4x-nvidia-h100-80gb-hbm3-nv18-64-cores``."""
        hard = self.hard
        if hard.get("gpu_count"):
            parts = [f"{hard['gpu_count']}x", hard["gpu_model"], hard["gpu_interconnect"], f"{hard['cpu_cores']} cores"]
        else:
            parts = ["cpu", hard["cpu_model"], f"{hard['cpu_cores']} cores"]
        return re.sub(r"[^a-z0-9]+", "-", " ".join(str(part) for part in parts).lower()).strip("-")
