"""The command `tfperf`: looks at what the plugin has stored and reported. It measures nothing, and knows no pytest."""

from __future__ import annotations

from pytest_tfperf.command.program import main

__all__ = ["main"]
