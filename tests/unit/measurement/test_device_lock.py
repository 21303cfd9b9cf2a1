"""Where a device's lock lies, and who holds it; the locks themselves are tried in `tests/faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tfperf.measurement.device_lock import Holder, core_folders, gpu_folders, holder_of


def test_folders_of_this_machine() -> None:
    first, *_ = core_folders([1, 0])
    assert first == Path("/sys/devices/system/cpu/cpu0")
    assert first.is_dir()


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        (["00000000:17:00.0"], ["0000:17:00.0"]),
        (["00000001:AF:00.0", "00000000:17:00.0"], ["0000:17:00.0", "0001:af:00.0"]),
        (["00000000:17:00.0"] * 2, ["0000:17:00.0"]),  # slices of one GPU
        (["", "nonsense"], []),
    ],
)
def test_folders_of_gpus(addresses: list[str], names: list[str]) -> None:
    assert [folder.name for folder in gpu_folders(addresses)] == names
    assert all(folder.parent == Path("/sys/bus/pci/devices") for folder in gpu_folders(addresses))


@pytest.mark.parametrize("text", ["", "1: FLOCK\n", "1: FLOCK ADVISORY WRITE x 00:16:1 0 EOF\n", "\n\n"])
def test_a_list_of_locks_that_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/locks").write_text(text)
    assert holder_of(tmp_path, tmp_path) is None


def test_no_list_of_locks(tmp_path: Path) -> None:
    assert holder_of(tmp_path, tmp_path) is None
    assert holder_of(tmp_path / "no device") is None


def test_a_holder_in_words() -> None:
    assert str(Holder(7, 1234567, "/nobody/knows")) == "pid 7 of the user 1234567"
