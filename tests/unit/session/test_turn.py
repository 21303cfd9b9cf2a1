"""Whether a session waits for its turn, and what it holds when that has come."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.canned import canned_specs
from pytest_tfperf import lifetime, session
from pytest_tfperf.config import PerfConfig
from pytest_tfperf.measurement.device_lock import core_folders, holder_of
from pytest_tfperf.session import PerfSession
from tests.unit.fakes import Lines

FIRST, OTHER = 90001, 90002
"""Cores that no machine has, so that none is the other's hyperthread."""


@pytest.mark.parametrize(
    ("smoke", "quiet", "held"),
    [
        ("", FIRST, [True, False]),
        ("", OTHER, [True, True]),  # the first too: of two sessions under one quota only one measures at a time
        ("nothing is measured", OTHER, [False, False]),
    ],
)
def test_what_a_session_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smoke: str, quiet: int, held: list[bool]
) -> None:
    folders = core_folders([FIRST, OTHER], tmp_path)
    for folder in folders:
        folder.mkdir(parents=True)
    monkeypatch.setattr(lifetime, "core_folders", lambda cores: core_folders(cores, tmp_path))
    monkeypatch.setattr(session, "measuring_cores", lambda: (FIRST,))
    monkeypatch.setattr(session, "quiet_cores", lambda cores: (quiet,))
    perf = PerfSession(PerfConfig(root=tmp_path, baselines=tmp_path, smoke=smoke), Lines())
    try:
        perf.plan(canned_specs(1))
        perf.take_turn()
        holders = [holder_of(folder) for folder in folders]
    finally:
        perf.close()
    assert [holder is not None and holder.pid == os.getpid() for holder in holders] == held
    assert [holder_of(folder) for folder in folders] == [None, None]
