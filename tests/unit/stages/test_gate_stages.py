"""What `benchmarks.gate` makes of a session of pytest that did not get through."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gate import main, session

PASSES = "def test_fine(): pass\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere\n", "No module named 'nowhere'"),
        (PASSES + "def test_stops(): raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("import os\n" + PASSES + "def test_dies(): os.kill(os.getpid(), 9)\n", "exit code -9"),
    ],
    ids=["a file that cannot be collected", "interrupted", "killed"],
)
def test_a_session_that_did_not_get_through_is_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (tmp_path / "test_it.py").write_text(text)
    assert session("rerun", [str(tmp_path)], tmp_path) is None
    assert said in capsys.readouterr().out
    assert main(["rerun", "--out", str(tmp_path), "--", str(tmp_path)]) == 2


def test_a_session_that_got_through_and_judged_nothing_did_not_do_what_it_should(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_it.py").write_text(PASSES)
    assert main(["rerun", "--out", str(tmp_path), "--", str(tmp_path)]) == 1
    assert "rerun: nothing was judged" in capsys.readouterr().out
