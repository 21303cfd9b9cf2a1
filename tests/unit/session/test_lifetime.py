"""All that a session holds ends, whatever fails to end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pytest_tfperf import lifetime
from pytest_tfperf.lifetime import Lifetime
from pytest_tfperf.measurement.device_lock import core_folders, holder_of


def test_one_that_fails_to_end_keeps_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (core,) = core_folders([0], tmp_path)
    core.mkdir(parents=True)
    monkeypatch.setattr(lifetime, "core_folders", lambda cores: [core])
    ended: list[str] = []

    def fail() -> None:
        ended.append("launcher")
        raise OSError("cannot")

    held = Lifetime(fail, lambda: ended.append("runs"))
    held.ends_first(lambda: ended.append("other"))
    before = signal.getsignal(signal.SIGTERM)
    held.begin()
    assert held.take_turn({"cpu"}, (0,), seconds=0, say=print) < 60
    holder = holder_of(core)
    assert holder is not None
    assert holder.pid == os.getpid()
    with pytest.raises(OSError, match="cannot"):
        held.close()
    assert ended == ["other", "launcher", "runs"]
    assert holder_of(core) is None
    assert signal.getsignal(signal.SIGTERM) == before
