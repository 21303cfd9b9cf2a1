"""Generated records among temporary files that other users can write too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_tfperf.workloads.cifar_records import records_file


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, where no other can be written."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_folder_that_somebody_else_made_is_not_used(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    somebody_else = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: somebody_else)
    (shared / f"pytest-tfperf-{somebody_else}").mkdir()
    with pytest.raises(OSError, match="no folder for generated records can be written"):
        records_file(10)


def test_a_link_that_somebody_else_made_is_not_followed(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (shared / f"pytest-tfperf-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="no folder for generated records can be written"):
        records_file(10)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_folder_that_everybody_can_write_to_is_not_used(shared: Path) -> None:
    folder = shared / f"pytest-tfperf-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(OSError, match="no folder for generated records can be written"):
        records_file(10)


def test_a_folder_of_its_own_is_used(shared: Path) -> None:
    assert records_file(10).parent == shared / f"pytest-tfperf-{os.getuid()}"
