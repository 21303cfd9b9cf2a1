"""The plugin's own tests run pytest inside pytest."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "alone: has times to meet, or is about the machine itself, so nothing of ours runs beside it"
    )
