"""Sessions of pytest in this process, with the plugin."""

from __future__ import annotations

import pytest

from pytest_tfperf.session import PerfSession


@pytest.fixture(autouse=True)
def no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured here, so nobody waits for another session of this machine that does."""
    monkeypatch.setattr(PerfSession, "take_turn", lambda session: None)
