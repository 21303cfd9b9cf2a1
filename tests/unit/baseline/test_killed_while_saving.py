"""SIGKILL at any line of a save: the file is the old one or the new one, and the next save works."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pytest_tfperf import files
from pytest_tfperf.baseline import store as stores
from pytest_tfperf.baseline.store import BaselineStore
from tests.unit.baseline.entries import make_entry

OURS = {files.__file__, stores.__file__}


def save_and_die(root: Path, line: int) -> bool:
    """Save in a forked child that kills itself before its `line`-th line of the code that writes; whether it did."""
    child = os.fork()
    if child == 0:
        seen = 0

        def trace(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal seen
            if frame.f_code.co_filename not in OURS:
                return None
            if event == "line":
                seen += 1
                if seen == line:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        try:
            sys.settrace(trace)
            BaselineStore(root).save([make_entry(replicas=2)])
            sys.settrace(None)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


@pytest.mark.parametrize("existing", [True, False])
def test_the_file_is_the_old_one_or_the_new_one(tmp_path: Path, existing: bool) -> None:
    old = None
    if existing:
        [earlier] = BaselineStore(tmp_path / "new").save([make_entry(replicas=1)])
        old = earlier.path.read_bytes()
    [saved] = BaselineStore(tmp_path / "new").save([make_entry(replicas=2)])
    new = saved.path.read_bytes()
    path = tmp_path / "killed" / saved.path.relative_to(tmp_path / "new")
    seen: set[bytes | None] = set()
    line = 0
    while True:
        line += 1
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        died = save_and_die(tmp_path / "killed", line)
        found = path.read_bytes() if path.exists() else None
        assert found in (old, new), f"killed before line {line}"
        seen.add(found)
        if not died:
            break
    assert line > 30, "the code that writes was traced"
    assert seen == {old, new}
    BaselineStore(tmp_path / "killed").save([make_entry(replicas=2)])
    assert path.read_bytes() == new
    assert [each.name for each in path.parent.iterdir()] == [path.name], "what the killed ones left is gone"
